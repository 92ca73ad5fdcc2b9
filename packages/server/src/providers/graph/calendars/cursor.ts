import { z } from 'zod'
import type { CalendarWindow } from '../../calendars.ts'
import type { Cursor } from '../../mail.ts'
import { LATE_FIELDS, NONE_LATE } from '../late-items.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'

const schema = z.object({
  version: z.literal(1),
  /** The time of the calendar view, which its links carry, in milliseconds since 1970. */
  from: z.int(),
  to: z.int(),
  /** When the calendar was last compared as a whole, in milliseconds since 1970. */
  begunAt: z.int(),
  /** The link of the delta: everything before it is recorded. Null while the calendar is compared, and without a delta. */
  link: z.string().nullable(),
  /** The link with which a comparison goes on; null if none is under way. */
  walk: z.string().nullable(),
  /** Without a delta: stands for the number of events and the last changes when the calendar was last compared. */
  mark: z.string().nullable(),
  ...LATE_FIELDS,
})

/** The state of following a calendar. */
export type CalendarCursor = z.infer<typeof schema>

/** A calendar is compared after this time, and its view is renewed: the window moves on, and the view of a link does not. */
const VIEWED_MS_MAX = 7 * DAY_MS
/** A window that begins so much earlier than the view, or ends so much later, is another one. */
const EARLIER_MS = DAY_MS
const LATER_MS = 8 * DAY_MS

/**
 * Null if there is none, or none that this version can read, or if its view is too old: the whole calendar is then compared.
 */
export function readCursor(cursor: Cursor | null, now: number): CalendarCursor | null {
  const read = cursor === null ? null : (schema.safeParse(cursor).data ?? null)
  if (read === null) return null
  const agoMs = now - read.begunAt
  return agoMs < 0 || agoMs >= VIEWED_MS_MAX ? null : read
}

/** Whether the view of a cursor is that of another window, as one of former settings. */
export const isOfOtherWindow = ({ from, to }: CalendarCursor, { start, end }: CalendarWindow): boolean =>
  from - start.getTime() >= EARLIER_MS || end.getTime() - to >= LATER_MS

export const freshCursor = ({ start, end }: CalendarWindow, now: number): CalendarCursor => ({
  version: 1,
  from: start.getTime(),
  to: end.getTime(),
  begunAt: now,
  link: null,
  walk: null,
  mark: null,
  ...NONE_LATE,
})
