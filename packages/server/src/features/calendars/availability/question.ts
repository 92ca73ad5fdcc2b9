import type { AvailabilityQuestion } from '@waxwing/contract/calendars/availability.ts'
import { refuse } from '../../../calls/refuse.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'
import { isZone } from '../../../kit/zones/zones.ts'
import type { CalendarWindow } from '../../../providers/calendars.ts'
import type { SlotQuestion } from './grid.ts'
import { readWorkingHours } from './working-hours.ts'

const RANGE_DAYS_MAX = 62
const MINUTE_MS = 60_000

/** The slots that a request asks for. Refuses with `invalid_range`, `invalid_time_zone` or `invalid_working_hours`. */
export function requireQuestion(body: AvailabilityQuestion, window: CalendarWindow): SlotQuestion {
  const [start, end] = [body.start.getTime(), body.end.getTime()]
  if (end <= start || end - start > RANGE_DAYS_MAX * DAY_MS) refuse('invalid_range')
  if (start < window.start.getTime() || end > window.end.getTime())
    refuse('invalid_range', undefined, { message: 'The range must lie inside the window of the index.' })
  const zone = body.timeZone ?? 'UTC'
  if (!isZone(zone)) refuse('invalid_time_zone')
  return {
    range: { start, end },
    length: body.durationMinutes * MINUTE_MS,
    step: body.stepMinutes * MINUTE_MS,
    before: body.bufferBeforeMinutes * MINUTE_MS,
    after: body.bufferAfterMinutes * MINUTE_MS,
    week: body.hours === undefined ? null : (readWorkingHours(body.hours) ?? refuse('invalid_working_hours')),
    zone,
  }
}
