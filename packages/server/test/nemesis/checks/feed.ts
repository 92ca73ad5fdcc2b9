import { entriesOf } from '../history.ts'
import type { Check, Violation } from '../violation.ts'

/**
 * I1: every reader of the feed was given every committed event once, and ids only grew. A reader that a fault stopped
 * may have read only the beginning.
 */
export const checkFeed: Check = ({ history, end }) => {
  const committed = end.events.map(({ id }) => id)
  const readers = new Map<string, string[]>([['the feed from its beginning', end.feed.map(({ id }) => id)]])
  const live = new Map<string, string[]>()
  for (const { reader, ids } of entriesOf(history, 'page')) {
    live.set(reader, [...(live.get(reader) ?? []), ...ids])
  }
  return [
    ...findOutOfOrder('the log', committed),
    ...[...readers].flatMap(([reader, ids]) => compare(reader, ids, committed)),
    ...[...live].flatMap(([reader, ids]) => compare(reader, ids, committed)),
  ]
}

function compare(reader: string, ids: readonly string[], committed: readonly string[]): Violation[] {
  const seen = new Set(ids)
  const known = new Set(committed)
  const missing = committed.filter(id => !seen.has(id))
  const invented = ids.filter(id => !known.has(id))
  return [
    ...findOutOfOrder(reader, ids),
    ...(missing.length > 0 ? [broken(`${reader} was never given ${describe(missing)}`)] : []),
    ...(invented.length > 0 ? [broken(`${reader} was given ${describe(invented)}, never committed`)] : []),
  ]
}

function findOutOfOrder(reader: string, ids: readonly string[]): Violation[] {
  const at = ids.findIndex((id, index) => index > 0 && BigInt(id) <= BigInt(ids[index - 1] ?? 0))
  return at < 0 ? [] : [broken(`${reader} has event ${ids[at]} after ${ids[at - 1]}`)]
}

const SHOWN_MAX = 5

function describe(ids: readonly string[]): string {
  const shown = ids.slice(0, SHOWN_MAX).join(', ')
  return ids.length > SHOWN_MAX ? `${ids.length} events (${shown}, …)` : `event ${shown}`
}

function broken(message: string): Violation {
  return { invariant: 'I1', message }
}
