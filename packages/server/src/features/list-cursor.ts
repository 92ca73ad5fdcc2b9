import type { CursorBinding, NewestFirst } from '../database/page.ts'
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
