import type { Issue } from '@waxwing/contract/reasons.ts'

export type Query = Record<string, string | string[]>

const NONE: Query = {}

/** The query of a URL: a parameter that is repeated reads as an array. U+0000, which nothing can hold, is an issue. */
export function readQuery(url: string): { query: Query; issues: Issue[] } {
  const start = url.indexOf('?')
  if (start === -1 || start === url.length - 1) return { query: NONE, issues: [] }
  // Without a prototype a parameter named __proto__ is one like any other, and unknown.
  const query: Query = Object.create(null)
  const issues: Issue[] = []
  for (const [name, value] of new URLSearchParams(url.slice(start + 1))) {
    if (value.includes('\0')) issues.push({ path: [name], message: 'must not contain U+0000' })
    const given = query[name]
    query[name] = given === undefined ? value : [...[given].flat(), value]
  }
  return { query, issues }
}
