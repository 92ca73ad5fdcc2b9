import type { Issue } from '@waxwing/contract/reasons.ts'

interface SchemaIssue {
  message: string
  path?: readonly (PropertyKey | { key: PropertyKey })[] | undefined
  code?: unknown
  keys?: unknown
  expected?: unknown
  values?: unknown
  origin?: unknown
  minimum?: unknown
  maximum?: unknown
}

/** A body can be wrong in thousands of places, and the first of them are enough to mend it. */
const ISSUES_MAX = 100
/** A name can be as long as the body. */
const PATH_PART_LENGTH_MAX = 100

/**
 * What a schema says of an input `{params, query, body}`, in the words of the interface: paths begin inside the body or
 * query, and each unknown key is an issue of its own with its own path.
 */
export function issuesOf(schemaIssues: readonly SchemaIssue[]): Issue[] {
  const issues = schemaIssues.slice(0, ISSUES_MAX).flatMap(issue => {
    const path = (issue.path ?? []).slice(1).map(pathPart)
    if (issue.code !== 'unrecognized_keys' || !Array.isArray(issue.keys)) {
      return [{ path, message: messageOf(issue) }]
    }
    const keys: unknown[] = issue.keys.slice(0, ISSUES_MAX)
    return keys.map(key => ({ path: [...path, pathPart(String(key))], message: 'is not a known field' }))
  })
  return issues.slice(0, ISSUES_MAX)
}

/** One step of a path as an issue tells it, a long name shortened. */
export function pathPart(part: PropertyKey | { key: PropertyKey }): string | number {
  const key = typeof part === 'object' ? part.key : part
  return typeof key === 'number' ? key : String(key).slice(0, PATH_PART_LENGTH_MAX)
}

/** The words of the contract where it has some; else what zod says, told as what the field must be. */
function messageOf(issue: SchemaIssue): string {
  const { code, message, expected, values, origin, minimum, maximum } = issue
  if (!/^(?:Invalid|Too) /.test(message)) return message
  if (code === 'invalid_type') return wrongType(String(expected), /received (\w+)$/.exec(message)?.[1], issue)
  if (code === 'invalid_value' && Array.isArray(values)) {
    return values.length === 1 ? `must be ${values[0]}` : `must be one of ${values.join(', ')}`
  }
  const unit = UNITS[String(origin)] ?? ''
  const must = unit === '' ? 'must be' : 'must have'
  if (code === 'too_small' && minimum !== undefined) return `${must} at least ${minimum}${unit}`
  if (code === 'too_big' && maximum !== undefined) return `${must} at most ${maximum}${unit}`
  return message
}

const UNITS: Record<string, string> = { array: ' items', string: ' characters' }
const KINDS: Record<string, string> = {
  array: 'a list',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'an object',
  string: 'a text',
}

function wrongType(expected: string, received: string | undefined, { path }: SchemaIssue): string {
  if (received === 'undefined') return 'is required'
  // Only a parameter that is repeated reads as a list.
  if (received === 'array' && path?.[0] === 'query') return 'must be given only once'
  const kind = KINDS[expected] ?? expected
  return received === 'null' ? `must be ${kind}, not null` : `must be ${kind}`
}
