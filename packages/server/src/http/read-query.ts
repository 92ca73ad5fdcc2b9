import type { Issue } from '@waxwing/contract/reasons.ts'
import { pathPart } from '../door/input-issues.ts'

export type Query = Record<string, string | string[]>

const NONE: Query = {}

/** Limits parameters. A list can also be given as one parameter, separated by commas. */
const PARAMETERS_MAX = 100

/**
 * Parses the query of a URL. A repeated parameter becomes an array. Too many parameters are an issue, and so is U+0000,
 * which cannot be stored.
 */
export function readQuery(url: string): { query: Query; issues: Issue[] } {
  const start = url.indexOf('?')
  if (start === -1 || start === url.length - 1) return { query: NONE, issues: [] }
  // Without a prototype, a parameter named __proto__ is an unknown parameter like any other.
  const query: Query = Object.create(null)
  const issues: Issue[] = []
  let count = 0
  for (const [name, value] of new URLSearchParams(url.slice(start + 1))) {
    count += 1
    if (count > PARAMETERS_MAX) {
      const message = `is one parameter too many; a query may have at most ${PARAMETERS_MAX}`
      return { query: NONE, issues: [{ path: [pathPart(name)], message }] }
    }
    if (value.includes('\0')) issues.push({ path: [pathPart(name)], message: 'must not contain U+0000' })
    const given = query[name]
    if (given === undefined) query[name] = value
    else if (Array.isArray(given)) given.push(value)
    else query[name] = [given, value]
  }
  return { query, issues }
}
