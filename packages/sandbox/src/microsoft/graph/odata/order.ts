import { badRequest, GraphRefusal } from '../errors.ts'
import type { Filter, Value } from './filter.ts'
import { splitList } from './query.ts'

export interface Ordering {
  /** The property in small letters, such as `receiveddatetime`. */
  readonly property: string
  readonly path: readonly string[]
  readonly isDescending: boolean
}

const KEYS_MAX = 5

/** Parses an `$orderby`. Refuses properties by which Graph does not order. */
export function parseOrder(text: string | undefined, isSortable: (property: string) => boolean): Ordering[] {
  const keys = splitList(text ?? '')
  if (keys.length > KEYS_MAX) throw badRequest('The query specified in the URI is not valid: too many keys.')
  return keys.map(key => {
    const [, name = '', direction] = /^([\w/]+)(?:\s+(asc|desc))?$/i.exec(key) ?? []
    if (!isSortable(name.toLowerCase()))
      throw badRequest(`Parsing OData OrderBy failed: '${key}' is not a property to order by.`)
    return {
      property: name.toLowerCase(),
      path: name.split('/'),
      isDescending: direction?.toLowerCase() === 'desc',
    }
  })
}

/**
 * Refuses an order and a filter that Exchange cannot serve together: the properties of the order have to be those with
 * which the filter begins.
 */
export function requireEfficient(order: readonly Ordering[], filter: Filter<never> | null): void {
  if (order.length === 0 || filter === null) return
  if (order.every(({ property }, at) => filter.properties[at] === property)) return
  throw new GraphRefusal(
    400,
    'InefficientFilter',
    'The restriction or sort order is too complex for this operation.',
  )
}

/** The items in the order asked for; equal ones keep theirs. */
export function inOrder<Item>(
  items: readonly Item[],
  order: readonly Ordering[],
  readerOf: (path: readonly string[]) => (item: Item) => Value,
): readonly Item[] {
  if (order.length === 0) return items
  const keys = order.map(({ path, isDescending }) => ({ read: readerOf(path), sign: isDescending ? -1 : 1 }))
  return items.toSorted((a, b) => {
    for (const { read, sign } of keys) {
      const difference = compareKeys(keyOf(read(a)), keyOf(read(b)))
      if (difference !== 0) return sign * difference
    }
    return 0
  })
}

const keyOf = (value: Value): string | number =>
  typeof value === 'string' ? value.toLowerCase() : Number(value)

function compareKeys(a: string | number, b: string | number): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
