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
  format?: unknown
}

/** A body can be wrong in thousands of places. The first ones are enough to correct it. */
const ISSUES_MAX = 100
/** A name in the body can be as long as the body. */
const PATH_PART_LENGTH_MAX = 100

/**
 * Translates a schema's issues about an input `{params, query, body}` into those of the interface. Paths begin inside
 * the body or query. Each unknown key is an issue with its own path.
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

/** One step of a path as shown in an issue. Long names are shortened. */
export function pathPart(part: PropertyKey | { key: PropertyKey }): string | number {
  const key = typeof part === 'object' ? part.key : part
  return typeof key === 'number' ? key : String(key).slice(0, PATH_PART_LENGTH_MAX)
}

/** The contract's message if it has one. Otherwise zod's issue, phrased as a requirement. */
function messageOf(issue: SchemaIssue): string {
  const { code, message, expected, values, origin, minimum, maximum, format } = issue
  if (!/^(?:Invalid|Too) /.test(message)) return message
  if (code === 'invalid_type') return wrongType(String(expected), /received (\w+)$/.exec(message)?.[1], issue)
  if (code === 'invalid_value' && Array.isArray(values)) {
    return values.length === 1 ? `must be ${values[0]}` : `must be one of ${values.join(', ')}`
  }
  const unit = UNITS[String(origin)]
  const must = unit === undefined ? 'must be' : 'must have'
  const counted = (bound: unknown) =>
    unit === undefined ? String(bound) : `${bound} ${unit}${Number(bound) === 1 ? '' : 's'}`
  if (code === 'too_small' && minimum !== undefined) return `${must} at least ${counted(minimum)}`
  if (format === 'regex') return 'must have the form that the reference describes'
  if (code === 'too_big' && maximum !== undefined) return `${must} at most ${counted(maximum)}`
  return message
}

const UNITS: Record<string, string> = { array: 'item', string: 'character' }
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
  // Only a repeated parameter is parsed as a list.
  if (received === 'array' && path?.[0] === 'query') return 'must be given only once'
  const kind = KINDS[expected] ?? expected
  return received === 'null' ? `must be ${kind}, not null` : `must be ${kind}`
}
