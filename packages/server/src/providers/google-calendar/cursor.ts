import { z } from 'zod'
import type { Cursor } from '../mail.ts'

const schema = z.object({
  /** Start of the window of the listing from which the tokens descend, in milliseconds since 1970. */
  timeMin: z.number(),
  /** The token of everything that was recorded; null while the first listing is not through. */
  syncToken: z.string().nullable(),
  /** The next page of a first listing. */
  pageToken: z.string().nullable(),
})

/** The state of following a calendar. */
export type CalendarCursor = z.infer<typeof schema>

/** Null if there is none, or none that this version can read: everything is then compared. */
export function readCursor(cursor: Cursor | null): CalendarCursor | null {
  return cursor === null ? null : (schema.safeParse(cursor).data ?? null)
}
