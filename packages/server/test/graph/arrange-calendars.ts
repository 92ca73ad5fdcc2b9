import { DAY_MS, instantOf, type Moment } from '../../../sandbox/src/calendaring/moments.ts'
import { addCalendar } from '../../../sandbox/src/microsoft/mailbox/calendars.ts'
import {
  type Calendar,
  EVENT_DEFAULTS,
  type EventFields,
  type StoredEvent,
} from '../../../sandbox/src/microsoft/mailbox/event.ts'
import {
  addEvent,
  changeEvent,
  changeOccurrence,
  deleteOccurrence,
  removeEvent,
} from '../../../sandbox/src/microsoft/mailbox/events.ts'
import { dateOf, type Recurrence, weekdayOf } from '../../../sandbox/src/microsoft/mailbox/recurrence.ts'
import type { WrittenEvent } from '../../src/providers/conformance/calendars.ts'
import type { ChangingCalendarsArrangement } from '../../src/providers/conformance/changing-calendars-account.ts'
import type { Cursor } from '../../src/providers/mail.ts'
import type { Cloud } from '../../src/providers/sign-in.ts'
import { isDay, requireWall } from '../../src/kit/wall-clock.ts'
import type { GraphServer } from './graph-server.ts'

const UNKNOWN_ID = 'AAMkAGI2NGVhZTVlLTI1OGMtNDI4Yg=='
const BERLIN = { zone: 'Europe/Berlin', name: 'W. Europe Standard Time' }

const momentOf = (wall: string): Moment => {
  const time = requireWall(wall)
  if (isDay(wall)) return { day: new Date(time).toISOString().slice(0, 10) }
  return { at: instantOf(time, BERLIN.zone), zone: BERLIN.zone }
}

/** The times of an event in Berlin, by wall clocks. */
export const timesOf = (start: string, end: string) => ({
  start: momentOf(start),
  end: momentOf(end),
  startZone: BERLIN.name,
  endZone: BERLIN.name,
})

export const dayOfWall = (wall: string): number => Math.floor(requireWall(wall) / DAY_MS)

/** A series that recurs on the weekday of its start. */
export const weekly = (start: string, numberOfOccurrences: number): Recurrence => ({
  pattern: {
    type: 'weekly',
    interval: 1,
    month: 0,
    dayOfMonth: 0,
    daysOfWeek: [weekdayOf(dayOfWall(start))],
    firstDayOfWeek: 'sunday',
    index: 'first',
  },
  range: {
    type: 'numbered',
    startDate: dateOf(dayOfWall(start)),
    endDate: null,
    numberOfOccurrences,
    recurrenceTimeZone: BERLIN.name,
  },
})

/** The calendars of a mailbox of the sandbox's Graph, in which the test makes the changes of other clients. */
export function arrangeCalendars(server: GraphServer, cloud: Cloud = 'global') {
  const { email, mailbox } = server.addUser(cloud)
  const { main, byId } = mailbox.calendars
  let made = 0
  const event = (key: string): StoredEvent => {
    const found = main.events.get(byId.get(key) ?? -1)
    if (!found) throw new Error(`There is no event ${key}`)
    return found
  }
  const add = (
    fields: Partial<EventFields> & ReturnType<typeof timesOf>,
    recurrence: Recurrence | null = null,
    calendar: Calendar = main,
  ): string =>
    addEvent(mailbox, calendar, {
      fields: { ...EVENT_DEFAULTS, ...fields },
      recurrence,
      uid: String((made += 1)).padStart(40, '0'),
      organizer: { name: mailbox.name, address: email },
      isOrganizer: true,
    }).immutableId
  const addWritten = ({ subject, start, end, rule }: WrittenEvent): string => {
    const count = /^FREQ=WEEKLY;COUNT=(\d+)$/.exec(rule ?? '')?.[1]
    if (rule !== undefined && count === undefined)
      throw new Error(`${rule} is not a rule of this arrangement`)
    return add({ subject, ...timesOf(start, end) }, count === undefined ? null : weekly(start, Number(count)))
  }
  return {
    email,
    mailbox,
    event,
    addEvent: add,
    world: {
      add: async events => events.map(addWritten),
      rename: async (key, subject) => void changeEvent(mailbox, main, event(key), { subject }),
      remove: async key => removeEvent(mailbox, main, event(key)),
      except: async (key, member, subject) =>
        void changeOccurrence(mailbox, main, event(key), { day: dayOfWall(member), fields: { subject } }),
      take: async (key, member) => void deleteOccurrence(mailbox, main, event(key), dayOfWall(member)),
      async addCalendar() {
        return addCalendar(mailbox, 'More & more', 'lightTeal').name
      },
    },
    calendarKey: main.id,
    connect: async () => server.connect(email),
    spoil: (cursor: Cursor): Cursor => {
      const { link } = cursor
      return typeof link === 'string'
        ? { ...cursor, link: link.replace(/deltatoken=.*/, 'deltatoken=spoiled') }
        : { ...cursor, mark: 'spoiled' }
    },
    unknownKey: UNKNOWN_ID,
    eventsOfSteps: 650,
    self: { name: mailbox.name, address: email },
    holds: {
      showAs: ['free', 'tentative', 'busy', 'oof', 'working_elsewhere'],
      sensitivity: ['normal', 'personal', 'private', 'confidential'],
      text: false,
      html: true,
      description: false,
      color: false,
      silence: false,
    },
    async [Symbol.asyncDispose]() {
      server.intercept = null
    },
  } satisfies ChangingCalendarsArrangement & Record<string, unknown>
}
