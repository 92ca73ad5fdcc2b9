import { DAY_MS } from '../../../kit/wall-clock.ts'
import type { CalendarWindow } from '../../../providers/calendars.ts'

/** Days back and ahead of today for which the index holds what takes place. */
export interface WindowDays {
  past: number
  ahead: number
}

/** Days that are kept beyond the window, so that it may move on between two runs of the job that extends it. */
export const KEPT_BEYOND = { past: 7, ahead: 31 }

/** The time that lists show. */
export function shownWindow({ past, ahead }: WindowDays, now: number): CalendarWindow {
  return { start: new Date(now - past * DAY_MS), end: new Date(now + ahead * DAY_MS) }
}

/** The time that the index holds. */
export function keptWindow({ past, ahead }: WindowDays, now: number): CalendarWindow {
  return shownWindow({ past: past + KEPT_BEYOND.past, ahead: ahead + KEPT_BEYOND.ahead }, now)
}

/** Servers compare days and floating times with the window in zones of their own, and may be this far off. */
const EDGE_DAYS = 2

/** Whether something that ends then has fallen out of the window at the provider, too. */
export function hasFallenOut(endsAt: Date, { start }: CalendarWindow): boolean {
  return endsAt.getTime() < start.getTime() + EDGE_DAYS * DAY_MS
}

/** A series that is expanded less far is expanded further. Each is so about once a week. */
const ROLLED_AFTER_DAYS = 7

/** The time up to which series are expanded at most, if the clocks of all processes were right. */
export function clockLimit({ end }: CalendarWindow): Date {
  return new Date(end.getTime() + DAY_MS)
}

/** The time up to which series must be expanded at least. */
export function rolledUpTo({ end }: CalendarWindow): Date {
  return new Date(end.getTime() - ROLLED_AFTER_DAYS * DAY_MS)
}
