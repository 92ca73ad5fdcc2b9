import type { NewEvent } from '@waxwing/contract/calendars/calendar-event-input.ts'
import { refuse } from '../../../calls/refuse.ts'
import {
  type CheckedRecurrence,
  checkRecurrence,
  type ExpandSeries,
} from '../../../kit/recurrence/check-recurrence.ts'
import type { CalendarWindow, EventTime } from '../../../providers/calendars.ts'
import type { EventInput } from '../../../providers/changing-calendars.ts'
import { readEventTime, readPlainFields, requireSeriesZone, requireTimes } from './read-input.ts'

/** The facts that a plan needs besides the index and the request. */
export interface PlanOptions {
  /** The addresses of the account, as `comparedAddress` has them. */
  own: ReadonlySet<string>
  /** The zone in which whole days and floating times of the calendar lie. */
  unzoned: string
  window: CalendarWindow
  expand: ExpandSeries
}

/** The event that a body asks for. Refuses what is none. */
export async function planEvent(body: NewEvent, options: PlanOptions): Promise<EventInput> {
  const { reminderMinutes, ...plain } = readPlainFields(body, options.own)
  if (body.recurrence) requireSeriesZone(body.start)
  const start = readEventTime(body.start, 'start', 'UTC')
  const end = readEventTime(body.end, 'end', start.zone ?? 'UTC')
  requireTimes(start, end, options.unzoned)
  return {
    subject: null,
    location: null,
    body: null,
    attendees: [],
    showAs: 'busy',
    sensitivity: 'normal',
    onlineMeeting: false,
    onlineMeetingUrl: null,
    ...plain,
    start,
    end,
    recurrence: body.recurrence ? await requireRecurrence(body.recurrence, start, options) : null,
    ...(reminderMinutes !== undefined && { reminderMinutes }),
  }
}

/** Checks the recurrence of a series. Refuses with the line that is wrong. */
export async function requireRecurrence(
  lines: readonly string[],
  start: EventTime,
  { window, expand }: Pick<PlanOptions, 'window' | 'expand'>,
): Promise<CheckedRecurrence> {
  const checked = await checkRecurrence(lines, start, window, expand)
  if (!('reason' in checked)) return checked
  const path = checked.line === null ? ['recurrence'] : ['recurrence', checked.line]
  return refuse(
    'invalid_recurrence',
    { issues: [{ path, message: checked.reason }] },
    { message: checked.reason },
  )
}
