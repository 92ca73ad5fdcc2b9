import { DAY_MS, instantOf, type Moment, wallAt } from '../../calendaring/moments.ts'
import { PEOPLE } from '../../mail/words.ts'
import type { Random } from '../../world/random.ts'
import { addCalendar } from './calendars.ts'
import { type Calendar, EVENT_DEFAULTS, type EventFields } from './event.ts'
import { addEvent, changeOccurrence, deleteOccurrence } from './events.ts'
import type { Mailbox } from './mailbox.ts'
import { dateOf, type Recurrence } from './recurrence.ts'

const HOUR_MS = 3_600_000
const BERLIN = { zone: 'Europe/Berlin', name: 'W. Europe Standard Time' }
const NEW_YORK = { zone: 'America/New_York', name: 'Eastern Standard Time' }

/**
 * Fills the calendar of a new mailbox with a week: a stand-up that recurs, with one occurrence at another time and one
 * deleted, rent at the end of each month, a holiday, a call in another zone, a Teams meeting with a guest, and lunch in a
 * second calendar.
 */
export function fillCalendar(mailbox: Mailbox, random: Random, now: number): void {
  const { main } = mailbox.calendars
  const monday = mondayOf(now)
  const self = { name: mailbox.name, address: mailbox.email }
  const add = (calendar: Calendar, fields: NewFields, recurrence: Recurrence | null = null) =>
    addEvent(mailbox, calendar, {
      fields: { ...EVENT_DEFAULTS, ...fields },
      recurrence,
      uid: random.hex(40).toUpperCase(),
      organizer: self,
      isOrganizer: true,
    })
  const standUp = add(
    main,
    {
      subject: 'Stand-up',
      ...timesAt(monday, { hour: 9.25, minutes: 15 }),
      locations: [{ displayName: 'Room 4' }],
    },
    weekly(monday),
  )
  const moved = changeOccurrence(mailbox, main, standUp, {
    day: monday + 1,
    fields: timesAt(monday + 1, { hour: 10.25, minutes: 15 }),
  })
  deleteOccurrence(mailbox, main, moved, monday + 3)
  const rent = monthEnd(monday)
  add(
    main,
    { subject: 'Rent', ...timesAt(rent.day, { hour: 18, minutes: 30 }), categories: ['Red category'] },
    rent.recurrence,
  )
  add(main, { subject: 'Holiday', ...wholeDay(monday + 4), showAs: 'free', isReminderOn: false })
  add(main, {
    subject: 'Call with New York',
    body: {
      contentType: 'html',
      content: '<html><body><p>Agenda: <b>plans</b> &amp; budget</p></body></html>',
    },
    ...timesAt(monday + 2, { hour: 10, minutes: 60, place: NEW_YORK }),
  })
  const guest = random.pick(PEOPLE)
  const joinUrl = `https://teams.microsoft.com/l/meetup-join/19%3ameeting_${random.hex(32)}%40thread.v2/0`
  add(main, {
    subject: 'Planning',
    ...timesAt(monday + 1, { hour: 15, minutes: 60 }),
    body: {
      contentType: 'html',
      content: `<html><body><a href="${joinUrl}">Join the meeting now</a></body></html>`,
    },
    joinUrl,
    onlineMeetingProvider: 'teamsForBusiness',
    attendees: [
      {
        name: guest.name,
        address: guest.email,
        type: 'required',
        status: { response: 'accepted', at: now - DAY_MS },
      },
    ],
  })
  const personal = addCalendar(mailbox, 'Personal', 'lightTeal')
  add(personal, {
    subject: 'Lunch',
    ...timesAt(monday + 3, { hour: 12.5, minutes: 60 }),
    sensitivity: 'private',
  })
}

type NewFields = Partial<EventFields> & Pick<EventFields, 'start' | 'end' | 'startZone' | 'endZone'>
type Times = Pick<EventFields, 'start' | 'end' | 'startZone' | 'endZone'>

/** The Monday of this week, in days since 1970. */
function mondayOf(now: number): number {
  const today = Math.floor(wallAt(now, BERLIN.zone) / DAY_MS)
  return today - ((new Date(today * DAY_MS).getUTCDay() + 6) % 7)
}

function timesAt(
  day: number,
  { hour, minutes, place = BERLIN }: { hour: number; minutes: number; place?: typeof BERLIN },
): Times {
  const at = (wall: number): Moment => ({ at: instantOf(wall, place.zone), zone: place.zone })
  const start = day * DAY_MS + hour * HOUR_MS
  return { start: at(start), end: at(start + minutes * 60_000), startZone: place.name, endZone: place.name }
}

const wholeDay = (day: number): Times => ({
  start: { day: dateOf(day) },
  end: { day: dateOf(day + 1) },
  startZone: BERLIN.name,
  endZone: BERLIN.name,
})

const ENDLESS = {
  type: 'noEnd',
  endDate: null,
  numberOfOccurrences: 0,
  recurrenceTimeZone: BERLIN.name,
} as const

const PATTERN = {
  interval: 1,
  month: 0,
  dayOfMonth: 0,
  daysOfWeek: [],
  firstDayOfWeek: 'sunday',
  index: 'first',
} as const

const weekly = (monday: number): Recurrence => ({
  pattern: {
    ...PATTERN,
    type: 'weekly',
    daysOfWeek: ['monday', 'tuesday', 'wednesday', 'thursday', 'friday'],
    firstDayOfWeek: 'monday',
  },
  range: { ...ENDLESS, startDate: dateOf(monday) },
})

/** The last day of each month from the one of a day. */
function monthEnd(day: number): { day: number; recurrence: Recurrence } {
  const date = new Date(day * DAY_MS)
  const last = Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0) / DAY_MS
  return {
    day: last,
    recurrence: {
      pattern: { ...PATTERN, type: 'absoluteMonthly', dayOfMonth: 31 },
      range: { ...ENDLESS, startDate: dateOf(last) },
    },
  }
}
