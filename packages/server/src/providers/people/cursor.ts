import { z } from 'zod'
import type { Cursor } from '../mail.ts'

/** A sync token is given up before it expires, seven days after the full sync that it descends from. */
const FULL_AFTER_MS = 6 * 24 * 3_600_000

const schema = z.object({
  /** Time of the full sync from which the token descends, in milliseconds since 1970. */
  fullAt: z.number(),
  /** The token of everything that was recorded; null while the first sync is not through. */
  syncToken: z.string().nullable(),
  /** The next page of a first sync. */
  pageToken: z.string().nullable(),
})

/** The state of following the contacts of a user. */
export type PeopleCursor = z.infer<typeof schema>

/** Null if there is none, or none that this version can read: everything is then compared. */
export function readCursor(cursor: Cursor | null): PeopleCursor | null {
  return cursor === null ? null : (schema.safeParse(cursor).data ?? null)
}

/** Whether a full sync is due. A time that is still to come was written by a clock that was ahead. */
export function isDue({ fullAt }: PeopleCursor, now: number): boolean {
  return now < fullAt || now - fullAt > FULL_AFTER_MS
}
