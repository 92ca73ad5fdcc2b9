import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { expand } from '../../kit/recurrence/expand.ts'
import type { CheckedRecurrence } from '../../kit/recurrence/check-recurrence.ts'
import type { CalendarWindow, EventAddress, EventTime, RemoteEvent } from '../calendars.ts'
import type {
  CalendarsWriter,
  ChangedPart,
  EventChange,
  EventInput,
  ItemPlace,
  RemovedPart,
  WriteOptions,
  WrittenEvents,
} from '../changing-calendars.ts'
import { never } from './arrangement.ts'
import type { CalendarsArrangement } from './calendars.ts'
import { type EventIndex, openEventIndex } from './event-index.ts'

/** A provider's account whose calendars the service changes. */
export interface ChangingCalendarsArrangement extends CalendarsArrangement {
  self: EventAddress
  /** Values of fields that every provider holds, and those that this one holds besides. */
  holds: {
    showAs: ReadonlyArray<EventInput['showAs']>
    sensitivity: ReadonlyArray<EventInput['sensitivity']>
    /** Whether a body of text is read as text; otherwise it is read as HTML. */
    text: boolean
    /** Whether a body in HTML is read as it was written. */
    html: boolean
    /** Whether calendars have descriptions and colours of any kind. */
    description: boolean
    color: boolean
    /** Whether an event that invites people can be written without telling them. */
    silence: boolean
  }
}

export const WINDOW: CalendarWindow = {
  start: new Date('2026-09-01T00:00:00Z'),
  end: new Date('2027-11-29T00:00:00Z'),
}
const ZONE = 'Europe/Berlin'
export const berlin = (wall: string): EventTime => ({ wall, zone: ZONE })
export const day = (wall: string): EventTime => ({ wall, zone: null })
export const weekly = (rule = 'FREQ=WEEKLY;COUNT=6', taken: string[] = []): CheckedRecurrence => ({
  rule,
  dates: [],
  taken,
})
/** Weekly through the change from winter to summer time. */
export const FIRST = '20270315T090000'
export const [SECOND, THIRD, FOURTH, FIFTH, SIXTH] = ['22', '29', '05', '12', '19'].map(
  (dayOfMonth, at) => `2027${at < 2 ? '03' : '04'}${dayOfMonth}T090000`,
) as [string, string, string, string, string]

export const PLAIN_EVENT: EventInput = {
  start: berlin('20261201T090000'),
  end: berlin('20261201T103000'),
  subject: 'Meeting; "first, second"',
  location: null,
  body: null,
  attendees: [],
  recurrence: null,
  showAs: 'busy',
  sensitivity: 'normal',
  reminderMinutes: null,
  onlineMeeting: false,
  onlineMeetingUrl: null,
}
export const SERIES: EventInput = {
  ...PLAIN_EVENT,
  start: berlin(FIRST),
  end: berlin('20270315T100000'),
  subject: 'Weekly',
  recurrence: weekly(),
}
export const FULL: Partial<EventInput> = {
  location: 'Room 5; upstairs, left',
  body: { contentType: 'text', content: `First line\nSecond, with; all: signs\\ ${'long '.repeat(40)}ñ` },
  reminderMinutes: 15,
}

/** The fields as they are read. Some providers have every body as HTML. */
export const read = ({ holds }: ChangingCalendarsArrangement, fields: EventChange): EventChange =>
  fields.body && !holds.text && fields.body.contentType === 'text'
    ? { ...fields, body: { contentType: 'html', content: expect.stringContaining('First line') } }
    : fields

export interface Opened extends AsyncDisposable {
  writer: CalendarsWriter
  index: EventIndex
  options: WriteOptions
  calendarKey: string
  /** Follows the calendar, and returns the event of an item. */
  eventAt(key: string): Promise<RemoteEvent>
  /** The starts of what takes place, ascending, with the subjects of exceptions. */
  startsOf(key: string): Promise<string[]>
  create(fields: Partial<EventInput>): Promise<ItemPlace>
  change(place: ItemPlace, part: ChangedPart, change: EventChange): Promise<WrittenEvents>
  remove(place: ItemPlace, part: RemovedPart): Promise<WrittenEvents>
}

export async function openChanging(arranged: ChangingCalendarsArrangement): Promise<Opened> {
  const { connect, calendarKey, self } = arranged
  const account = await connect()
  const { calendars } = account
  const calendar = (await calendars.listCalendars(never)).find(({ key }) => key === calendarKey)
  if (!calendar || !calendars.writer) throw new Error('the arrangement has no calendar that can be written')
  const { writer } = calendars
  const index = openEventIndex(calendar, WINDOW)
  const options = {
    self,
    own: new Set([self.address.toLowerCase()]),
    notify: false,
    concernsOthers: true,
    window: WINDOW,
  }
  const find = async (key: string) => {
    await index.follow(calendars)
    const object = index.objects.get(key)
    if (object?.type !== 'item' || !object.event) throw new Error(`the calendar has no ${key}`)
    return { ...object, event: object.event }
  }
  return {
    writer,
    index,
    options,
    calendarKey,
    eventAt: async key => (await find(key)).event,
    async startsOf(key) {
      const { event, recurrence, members, occurrences } = await find(key)
      const differing = index.members(key)
      const exceptions = members
        ? members.exceptions
        : [...index.objects.values()].flatMap(one =>
            one.type === 'member' && one.seriesKey === key && one.event
              ? [{ member: one.member, event: one.event }]
              : [],
          )
      const lines = recurrence ?? []
      const range = { start: event.start, from: '20260901T000000', to: '20271129T000000' }
      const given = occurrences ?? expand({ lines, ...range }).members.map(({ wall }) => ({ member: wall }))
      const usual = given.map(({ member }) => member).filter(member => !(member in differing))
      const shown = exceptions.map(one => `${one.event.start.wall} ${one.event.subject}`)
      return [...usual, ...shown].toSorted()
    },
    async create(fields) {
      const event = {
        calendarKey,
        fields: { ...PLAIN_EVENT, ...fields },
        creationId: randomUUID(),
        mayExist: false,
      }
      return (await writer.createEvent(event, options)).place
    },
    change: (place, part, change) => writer.changeEvent({ place, part, change }, options),
    remove: (place, part) => writer.removeEvent({ place, part }, options),
    [Symbol.asyncDispose]: () => account[Symbol.asyncDispose](),
  }
}

export const ALL: ChangedPart = { type: 'all', timesOf: null }
export const member = (wall: string) => ({ type: 'member', member: wall, memberKey: null }) as const
export const following = (wall: string, creationId: string = randomUUID(), mayExist = false) =>
  ({ type: 'following', member: wall, memberKey: null, creationId, mayExist }) as const
