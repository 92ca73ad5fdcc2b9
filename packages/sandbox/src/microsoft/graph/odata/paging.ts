import type { Query } from './query.ts'
import { isTrue, numberOption } from './query.ts'

/** Items of a page without `$top`. */
const PAGE_DEFAULT = 10
const PAGE_MAX = 1_000
const SKIP_MAX = 1_000_000

export interface Page<Item> {
  readonly items: readonly Item[]
  /** Parts of the answer besides `value`. */
  readonly annotations: Readonly<Record<string, unknown>>
}

/** Cuts the page out of all items that `$top`, `$skip` and the preference for a page size ask for. */
export function pageOf<Item>(
  items: readonly Item[],
  query: Query,
  url: URL,
  preferred: number | null,
): Page<Item> {
  const top = numberOption(query, 'top', PAGE_MAX) ?? Math.min(preferred ?? PAGE_DEFAULT, PAGE_MAX)
  const skip = numberOption(query, 'skip', SKIP_MAX) ?? 0
  const end = skip + top
  return {
    items: items.slice(skip, end),
    annotations: {
      ...(isTrue(query, 'count') && { '@odata.count': items.length }),
      ...(end < items.length && { '@odata.nextLink': linkWith(url, { $skip: `${end}` }) }),
    },
  }
}

/** The same request with other options. */
export function linkWith(url: URL, options: Readonly<Record<string, string>>): string {
  const link = new URL(url)
  for (const [name, value] of Object.entries(options)) {
    const given = [...link.searchParams.keys()].filter(
      key => key.replace(/^\$/, '').toLowerCase() === name.slice(1),
    )
    for (const key of given) link.searchParams.delete(key)
    link.searchParams.set(name, value)
  }
  return link.href
}

/** The metadata address of the entities of an answer. */
export const contextOf = (url: URL, of: string): string => `${url.origin}/v1.0/$metadata#${of}`
