import { type CursorBinding, cutPage, type NewestFirst } from '../database/page.ts'
import type { RequestContext } from './context.ts'
import { refuse } from './refuse.ts'

type CursorContext = Pick<RequestContext, 'tenantId' | 'cursors'>
type ListBinding = Omit<CursorBinding, 'tenantId'>

/**
 * The position at which a list that is ordered newest first continues; null at its start. Refuses with
 * `invalid_cursor`.
 */
export function requirePosition(
  { tenantId, cursors }: CursorContext,
  cursor: string | undefined,
  binding: ListBinding,
): NewestFirst | null {
  if (cursor === undefined) return null
  const [time, id] = cursors.open(cursor, { tenantId, ...binding }) ?? []
  return time !== undefined && id !== undefined ? { time, id } : refuse('invalid_cursor')
}

/** The cursor of the page after this position. */
export function sealPosition(
  { tenantId, cursors }: CursorContext,
  { time, id }: NewestFirst,
  binding: ListBinding,
): string {
  return cursors.seal([time, id], { tenantId, ...binding })
}

/**
 * A page of a list whose rows are ordered by the time of their creation and their id, newest first.
 * @param scannedTo where a filtered read stopped before the end of the list; the next page goes on from there
 */
export function answerPage<Row extends { id: string; created_at: Date }, Item>(
  context: CursorContext,
  rows: Row[],
  {
    limit,
    binding,
    scannedTo = null,
    present,
  }: { limit: number; binding: ListBinding; scannedTo?: NewestFirst | null; present(row: Row): Item },
): { items: Item[]; nextCursor: string | null } {
  const { page, hasMore } = cutPage(rows, limit)
  const last = page.at(-1)
  const next = hasMore && last ? { time: last.created_at.toISOString(), id: last.id } : scannedTo
  return {
    items: page.map(row => present(row)),
    nextCursor: next && sealPosition(context, next, binding),
  }
}
