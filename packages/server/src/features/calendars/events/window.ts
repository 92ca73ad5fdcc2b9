import { DAY_MS } from '../../../kit/wall-clock.ts'
import type { CalendarWindow } from '../../../providers/calendars.ts'

/** Days back and ahead of today for which the index holds what takes place. */
export interface WindowDays {
  past: number
  ahead: number
}

/** Days that are kept beyond the window, so that it may move on between two runs of the job that extends it. */
const KEPT_BEYOND = { past: 7, ahead: 31 }

/** The time that lists show. */
export function shownWindow({ past, ahead }: WindowDays, now: number): CalendarWindow {
  return { start: new Date(now - past * DAY_MS), end: new Date(now + ahead * DAY_MS) }
}

/** The time that the index holds. */
export function keptWindow({ past, ahead }: WindowDays, now: number): CalendarWindow {
  return shownWindow({ past: past + KEPT_BEYOND.past, ahead: ahead + KEPT_BEYOND.ahead }, now)
}
