import type { Issue } from '@waxwing/contract/reasons.ts'

interface SchemaIssue {
  message: string
  path?: readonly (PropertyKey | { key: PropertyKey })[] | undefined
  code?: unknown
  keys?: unknown
}

/**
 * What a schema says of an input `{params, query, body}`, in the words of the interface: paths begin inside the body or
 * query, and each unknown key is an issue of its own with its own path.
 */
export function issuesOf(schemaIssues: readonly SchemaIssue[]): Issue[] {
  return schemaIssues.flatMap(issue => {
    const path = (issue.path ?? []).slice(1).map(pathPart)
    if (issue.code !== 'unrecognized_keys' || !Array.isArray(issue.keys)) {
      return [{ path, message: issue.message }]
    }
    return issue.keys.map(key => ({ path: [...path, String(key)], message: 'is not a known field' }))
  })
}

function pathPart(part: PropertyKey | { key: PropertyKey }): string | number {
  const key = typeof part === 'object' ? part.key : part
  return typeof key === 'symbol' ? String(key) : key
}
