import type { AvailabilityQuestion } from '@waxwing/contract/calendars/availability.ts'
import { WEEKDAYS, type WorkingHours } from '@waxwing/contract/calendars/working-hours.ts'
import { refuse } from '../../../calls/refuse.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'
import type { CalendarWindow } from '../../../providers/calendars.ts'
import { requireZone } from '../writing/read-input.ts'
import type { SlotQuestion } from './grid.ts'
import { type OpenWeek, readWorkingHours } from './working-hours.ts'

const RANGE_DAYS_MAX = 62
const MINUTE_MS = 60_000

/** The slots that a request asks for. Refuses with `invalid_range`, `invalid_time_zone` or `invalid_working_hours`. */
export function requireQuestion(body: AvailabilityQuestion, window: CalendarWindow): SlotQuestion {
  const [start, end] = [body.start.getTime(), body.end.getTime()]
  if (end <= start) refuseRange('The end must be later than the start.')
  if (end - start > RANGE_DAYS_MAX * DAY_MS) refuseRange(`The range has more than ${RANGE_DAYS_MAX} days.`)
  if (start < window.start.getTime() || end > window.end.getTime())
    refuseRange(
      `The range must lie inside the window of the index, from ${window.start.toISOString()} to ${window.end.toISOString()}.`,
    )
  return {
    range: { start, end },
    length: body.durationMinutes * MINUTE_MS,
    step: body.stepMinutes * MINUTE_MS,
    before: body.bufferBeforeMinutes * MINUTE_MS,
    after: body.bufferAfterMinutes * MINUTE_MS,
    week: body.hours === undefined ? null : requireHours(body.hours),
    zone: body.timeZone === undefined ? 'UTC' : requireZone(body.timeZone, 'timeZone'),
  }
}

function refuseRange(message: string): never {
  refuse('invalid_range', undefined, { message })
}

function requireHours(hours: WorkingHours): OpenWeek {
  const week = readWorkingHours(hours)
  if (week) return week
  const wrong = WEEKDAYS.filter(day => readWorkingHours({ [day]: hours[day] }) === null)
  return refuse('invalid_working_hours', undefined, {
    message: `The hours of ${wrong.join(', ')} overlap, or end before they start. Correct the ranges.`,
  })
}
