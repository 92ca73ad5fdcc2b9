import { z } from 'zod'
import { toInstant } from '../../../kit/zones/zones.ts'
import { findBusyInParts } from '../../busy-in-parts.ts'
import type { CalendarsProvider } from '../../calendars.ts'
import type { GraphRequest } from '../api.ts'
import type { CalendarsConnection } from './calendars-connection.ts'
import { timeSchema, toEventTimes } from './event-times.ts'

/** Exchange answers for 20 people and 42 days a call (learn.microsoft.com/graph/api/calendar-getschedule). */
const BOUNDS = { addressesMax: 20, daysMax: 42 }
/** Minutes of one character of the view, by which only lists of people are read. */
const VIEW_MINUTES = 15
const MINUTE_MS = 60_000
const ANSWER_BYTES_MAX = 16 * 1024 * 1024
const NOT_BUSY = new Set(['free', 'workingelsewhere'])
/** Free, and working elsewhere. */
const NOT_BUSY_DIGITS = new Set(['0', '4'])

const scheduleSchema = z.object({
  value: z.array(
    z.object({
      scheduleId: z.string(),
      availabilityView: z.string().nullish(),
      scheduleItems: z
        .array(z.object({ status: z.string().nullish(), start: timeSchema, end: timeSchema }))
        .nullish(),
      error: z.unknown().optional(),
    }),
  ),
})
type Schedule = z.infer<typeof scheduleSchema>['value'][number]
type BusyTimes = Array<{ start: Date; end: Date }>

/** Asks Exchange when people, rooms and lists of people are busy. An address that it cannot resolve is absent. */
export function findBusy(
  { api }: CalendarsConnection,
  ...[addresses, range, signal]: Parameters<NonNullable<CalendarsProvider['findBusy']>>
): ReturnType<NonNullable<CalendarsProvider['findBusy']>> {
  return findBusyInParts(BOUNDS, addresses, range, async (some, part) => {
    const request: GraphRequest<z.infer<typeof scheduleSchema>> = {
      method: 'POST',
      path: 'calendar/getSchedule',
      json: {
        schedules: some,
        startTime: timeIn(part.start),
        endTime: timeIn(part.end),
        availabilityViewInterval: VIEW_MINUTES,
      },
      prefer: ['outlook.timezone="UTC"'],
      schema: scheduleSchema,
      accepts: [200],
      answerBytesMax: ANSWER_BYTES_MAX,
    }
    const { value } = await api.ask(request, { urgency: 'interactive', signal })
    const answered = new Map(value.value.map(schedule => [schedule.scheduleId.toLowerCase(), schedule]))
    const resolved = some.flatMap(address => {
      const schedule = answered.get(address.toLowerCase())
      const times = schedule && timesOf(schedule, part.start)
      return times ? [[address, times] as const] : []
    })
    return new Map(resolved)
  })
}

const timeIn = (date: Date) => ({ dateTime: date.toISOString().slice(0, -1), timeZone: 'UTC' })

/** The busy times of a person; null if Exchange does not have them. */
function timesOf({ error, scheduleItems, availabilityView }: Schedule, from: Date): BusyTimes | null {
  if (error !== undefined && error !== null) return null
  if (!scheduleItems && typeof availabilityView !== 'string') return null
  const busy = (scheduleItems ?? []).filter(({ status }) => !NOT_BUSY.has(status?.toLowerCase() ?? ''))
  const times = busy.map(item => {
    const read = toEventTimes(item, { isAllDay: false, zone: 'UTC', endZone: 'UTC' })
    return (
      read && {
        start: new Date(toInstant(read.start.wall, 'UTC')),
        end: new Date(toInstant(read.end.wall, 'UTC')),
      }
    )
  })
  // A time that cannot be read must not count as free.
  if (times.includes(null)) return null
  const known = times.filter(time => time !== null)
  return scheduleItems && scheduleItems.length > 0 ? known : timesInView(availabilityView ?? '', from)
}

/** The view has a character for each part of the range. Lists of people have nothing else. */
function timesInView(view: string, from: Date): BusyTimes {
  const at = (index: number) => new Date(from.getTime() + index * VIEW_MINUTES * MINUTE_MS)
  return [...view].flatMap((digit, index) =>
    NOT_BUSY_DIGITS.has(digit) ? [] : [{ start: at(index), end: at(index + 1) }],
  )
}
