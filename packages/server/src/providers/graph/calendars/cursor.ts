import { z } from 'zod'
import type { CalendarWindow } from '../../calendars.ts'
import type { Cursor } from '../../mail.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'

const schema = z.object({
  version: z.literal(1),
  /** The time of the calendar view, which its links carry, in milliseconds since 1970. */
  from: z.int(),
  to: z.int(),
  /** The link of the delta: everything before it is recorded. Null while the calendar is compared, and without a delta. */
  link: z.string().nullable(),
  /** The link with which a comparison goes on; null if none is under way. */
  walk: z.string().nullable(),
  /** Without a delta: stands for the number of events and the last changes when the calendar was last compared. */
  mark: z.string().nullable(),
})

/** The state of following a calendar. */
export type CalendarCursor = z.infer<typeof schema>

/** The view of a link is renewed once the window has moved so far: a comparison a week. */
const BEHIND_MS_MAX = 7 * DAY_MS
/** A window that begins so much earlier than the view is another one. */
const EARLIER_MS = DAY_MS

/**
 * Null if there is none, or none that this version can read, or if the window has moved away from the view of its link: the
 * whole calendar is then compared.
 */
export function readCursor(cursor: Cursor | null, window: CalendarWindow | null): CalendarCursor | null {
  const read = cursor === null ? null : (schema.safeParse(cursor).data ?? null)
  if (read === null || window === null) return read
  const isBehind = window.end.getTime() - read.to >= BEHIND_MS_MAX
  const isEarlier = read.from - window.start.getTime() >= EARLIER_MS
  return isBehind || isEarlier ? null : read
}

export const freshCursor = ({ start, end }: CalendarWindow): CalendarCursor => ({
  version: 1,
  from: start.getTime(),
  to: end.getTime(),
  link: null,
  walk: null,
  mark: null,
})
