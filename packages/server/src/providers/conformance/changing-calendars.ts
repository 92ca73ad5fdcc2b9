import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
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

const WINDOW: CalendarWindow = {
  start: new Date('2026-09-01T00:00:00Z'),
  end: new Date('2027-11-29T00:00:00Z'),
}
const ZONE = 'Europe/Berlin'
const berlin = (wall: string): EventTime => ({ wall, zone: ZONE })
const day = (wall: string): EventTime => ({ wall, zone: null })
const weekly = (rule = 'FREQ=WEEKLY;COUNT=6', taken: string[] = []): CheckedRecurrence => ({
  rule,
  dates: [],
  taken,
})
/** Weekly through the change from winter to summer time. */
const FIRST = '20270315T090000'
const [SECOND, THIRD, FOURTH, FIFTH, SIXTH] = ['22', '29', '05', '12', '19'].map(
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
const SERIES: EventInput = {
  ...PLAIN_EVENT,
  start: berlin(FIRST),
  end: berlin('20270315T100000'),
  subject: 'Weekly',
  recurrence: weekly(),
}
const FULL: Partial<EventInput> = {
  location: 'Room 5; upstairs, left',
  body: { contentType: 'text', content: `First line\nSecond, with; all: signs\\ ${'long '.repeat(40)}ñ` },
  reminderMinutes: 15,
}

/** The fields as they are read. Some providers have every body as HTML. */
const read = ({ holds }: ChangingCalendarsArrangement, fields: EventChange): EventChange =>
  fields.body && !holds.text && fields.body.contentType === 'text'
    ? { ...fields, body: { contentType: 'html', content: expect.stringContaining('First line') } }
    : fields

interface Opened extends AsyncDisposable {
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

async function open(arranged: ChangingCalendarsArrangement): Promise<Opened> {
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

const ALL: ChangedPart = { type: 'all', timesOf: null }
const member = (wall: string) => ({ type: 'member', member: wall, memberKey: null }) as const
const following = (wall: string, creationId: string = randomUUID(), mayExist = false) =>
  ({ type: 'following', member: wall, memberKey: null, creationId, mayExist }) as const

/** Contract of every `CalendarsWriter`. `setUp` makes a new account for each test. */
export function describeChangingCalendars(
  name: string,
  setUp: () => Promise<ChangingCalendarsArrangement>,
): void {
  describe(`${name}: changing events`, () => {
    test('creates an event with its fields, once for all tries', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      const { writer, index, options, calendarKey } = opened
      const fields = { ...PLAIN_EVENT, ...FULL }
      const creation = { creationId: randomUUID(), mayExist: false }

      expect(await writer.findCreated({ calendarKey, ...creation }, never)).toBeNull()
      const written = await writer.createEvent({ calendarKey, fields, ...creation }, options)
      const again = await writer.createEvent({ calendarKey, fields, ...creation, mayExist: true }, options)

      expect(again.place).toEqual(written.place)
      expect(await writer.findCreated({ calendarKey, ...creation }, never)).toBe(written.place.key)
      const event = await opened.eventAt(written.place.key)
      expect(event).toMatchObject({
        ...read(arranged, FULL),
        start: PLAIN_EVENT.start,
        end: PLAIN_EVENT.end,
        subject: PLAIN_EVENT.subject,
        showAs: 'busy',
        sensitivity: 'normal',
        status: 'confirmed',
      })
      expect(index.objects.size).toBe(1)
      expect(written.items.map(({ object }) => object)).toEqual([...index.objects.values()])
    })

    test('creates events of whole days and of other zones', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      const days = await opened.create({ start: day('20261224'), end: day('20261227') })
      const york = { start: { wall: '20261101T013000', zone: 'America/New_York' } }
      const night = await opened.create({
        ...york,
        end: { wall: '20261101T033000', zone: 'America/New_York' },
      })
      expect(await opened.eventAt(days.key)).toMatchObject({ start: day('20261224'), end: day('20261227') })
      expect(await opened.eventAt(night.key)).toMatchObject(york)
    })

    test('changes each field by itself, and clears it', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      const { holds } = arranged
      const place = await opened.create({})
      let expected: Partial<RemoteEvent> = {
        subject: PLAIN_EVENT.subject,
        start: PLAIN_EVENT.start,
        end: PLAIN_EVENT.end,
      }
      const changes: EventChange[] = [
        { subject: 'Renamed' },
        { location: 'Room 6' },
        { body: FULL.body! },
        { reminderMinutes: 30 },
        { reminderMinutes: 10 },
        { start: berlin('20261202T140000'), end: berlin('20261202T150000') },
        ...holds.showAs.map(showAs => ({ showAs })),
        ...holds.sensitivity.map(sensitivity => ({ sensitivity })),
        ...(holds.html
          ? [{ body: { contentType: 'html', content: '<p>Some <b>bold</b> text</p>' } as const }]
          : []),
        { location: null },
        { body: null },
        { reminderMinutes: null },
        { subject: null },
      ]
      for (const change of changes) {
        expected = { ...expected, ...(read(arranged, change) as Partial<RemoteEvent>) }
        const { items } = await opened.change(place, ALL, change)
        expect(items.map(({ object }) => object.event)).toMatchObject([expected])
      }
      expect(await opened.eventAt(place.key)).toMatchObject(expected)
    })

    test('keeps the length of an event with a new start', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      const place = await opened.create({})
      await opened.change(place, ALL, { start: berlin('20261203T230000') })
      expect(await opened.eventAt(place.key)).toMatchObject({ end: berlin('20261204T003000') })
      await opened.change(place, ALL, { end: berlin('20261204T010000') })
      expect(await opened.eventAt(place.key)).toMatchObject({
        start: berlin('20261203T230000'),
        end: berlin('20261204T010000'),
      })
    })

    test('keeps what another client changes', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      const place = await opened.create({})
      await arranged.world.rename(place.key, 'Renamed elsewhere')
      await opened.change(place, ALL, { location: 'Room 6' })
      expect(await opened.eventAt(place.key)).toMatchObject({
        subject: 'Renamed elsewhere',
        location: 'Room 6',
      })
    })

    test('invites, and replaces the list by address', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      if (!arranged.holds.silence) return
      const [ada, grace, room] = [
        { name: 'Ada "Countess", Lovelace', address: 'ada@example.com', type: 'required' },
        { name: null, address: 'grace@example.com', type: 'optional' },
        { name: 'Room', address: 'room@example.com', type: 'required' },
      ] as const
      const place = await opened.create({ attendees: [ada, grace] })
      expect(await opened.eventAt(place.key)).toMatchObject({ organizer: { address: arranged.self.address } })
      await opened.change(place, ALL, { attendees: [grace, room] })
      const others = ({ attendees }: RemoteEvent) =>
        attendees.filter(({ address }) => address !== arranged.self.address)
      expect(others(await opened.eventAt(place.key))).toMatchObject([grace, room])
      await opened.change(place, ALL, { attendees: [] })
      expect(others(await opened.eventAt(place.key))).toEqual([])
    })

    test('creates a series, and takes members from it', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      const place = await opened.create({ ...SERIES, recurrence: weekly(undefined, [SECOND]) })
      expect(await opened.startsOf(place.key)).toEqual([FIRST, THIRD, FOURTH, FIFTH, SIXTH])
      await opened.remove(place, member(FOURTH))
      expect(await opened.startsOf(place.key)).toEqual([FIRST, THIRD, FIFTH, SIXTH])
      await expect(opened.remove(place, member(FOURTH))).rejects.toMatchObject({ kind: 'not_found' })
    })

    test('changes one member, again and again, until it is taken', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      const place = await opened.create(SERIES)
      await opened.change(place, member(THIRD), { subject: 'Once' })
      const start = berlin('20270330T110000')
      await opened.change(place, member(THIRD), { start })
      expect(await opened.startsOf(place.key)).toEqual([
        FIRST,
        SECOND,
        '20270330T110000 Once',
        FOURTH,
        FIFTH,
        SIXTH,
      ])
      expect(await opened.eventAt(place.key)).toMatchObject({ subject: 'Weekly' })
      await opened.remove(place, member(THIRD))
      expect(await opened.startsOf(place.key)).toEqual([FIRST, SECOND, FOURTH, FIFTH, SIXTH])
      await expect(opened.change(place, member(THIRD), { subject: 'Gone' })).rejects.toMatchObject({
        kind: 'not_found',
      })
    })

    test('changes a whole series, and the exceptions that had its values', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      const place = await opened.create(SERIES)
      await opened.change(place, member(SECOND), { subject: 'Once' })
      await opened.change(place, member(THIRD), { location: 'Elsewhere' })
      await opened.change(place, ALL, { subject: 'Renamed', location: 'Room 7' })
      expect(await opened.startsOf(place.key)).toEqual([
        FIRST,
        `${SECOND} Once`,
        `${THIRD} Renamed`,
        FOURTH,
        FIFTH,
        SIXTH,
      ])
      expect(await opened.eventAt(place.key)).toMatchObject({ subject: 'Renamed', location: 'Room 7' })
    })

    test('moves a series by the times of one member, with its exceptions and taken members', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      const place = await opened.create({ ...SERIES, recurrence: weekly(undefined, [SECOND]) })
      await opened.change(place, member(THIRD), { subject: 'Once' })
      const timesOf = { member: FOURTH, memberKey: null }
      const move = () => opened.change(place, { type: 'all', timesOf }, { start: berlin('20270406T100000') })
      await move()
      await expect(move()).rejects.toMatchObject({ kind: 'not_found' })
      // A try that names where the series was goes on instead.
      const again = { ...timesOf, seriesStart: berlin(FIRST) }
      await opened.change(place, { type: 'all', timesOf: again }, { start: berlin('20270406T100000') })
      const later = [FIRST, THIRD, FOURTH, FIFTH, SIXTH].map(wall =>
        wall.replace(
          /(\d\d)T09/,
          (_, dayOfMonth: string) => `${String(Number(dayOfMonth) + 1).padStart(2, '0')}T10`,
        ),
      )
      expect(await opened.startsOf(place.key)).toEqual(
        later.map((wall, at) => (at === 1 ? `${wall} Once` : wall)),
      )
    })

    test('replaces the rule of a series, and makes it one event and again a series', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      const place = await opened.create({ ...SERIES, recurrence: weekly(undefined, [THIRD]) })
      await opened.change(place, member(SECOND), { subject: 'Once' })
      await opened.change(place, ALL, { recurrence: weekly('FREQ=WEEKLY;INTERVAL=2;COUNT=3') })
      expect(await opened.startsOf(place.key)).toEqual([FIRST, FIFTH])
      await opened.change(place, ALL, { recurrence: null })
      await opened.eventAt(place.key)
      expect(opened.index.items()).toMatchObject([{ recurrence: null }])
      await opened.change(place, ALL, { recurrence: weekly('FREQ=DAILY;COUNT=2') })
      expect(await opened.startsOf(place.key)).toEqual([FIRST, '20270316T090000'])
    })

    test('splits a series at a member, once for all tries', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      const place = await opened.create({ ...SERIES, recurrence: weekly(undefined, [FIFTH]) })
      await opened.change(place, member(SECOND), { subject: 'Early' })
      await opened.change(place, member(SIXTH), { subject: 'Late' })
      const id = randomUUID()
      const change = { subject: 'Second part', start: berlin('20270329T100000') }
      const first = await opened.change(place, following(THIRD, id), change)
      const again = await opened.change(place, following(THIRD, id, true), change)

      expect(again.place).toEqual(first.place)
      expect(first.place.key).not.toBe(place.key)
      expect(await opened.startsOf(place.key)).toEqual([FIRST, `${SECOND} Early`])
      expect(await opened.startsOf(first.place.key)).toEqual([
        '20270329T100000',
        '20270405T100000',
        '20270419T100000 Late',
      ])
      expect(await opened.eventAt(first.place.key)).toMatchObject({ subject: 'Second part' })
      expect(opened.index.items()).toHaveLength(2)
    })

    test('ends a series before a member', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      const place = await opened.create(SERIES)
      await opened.change(place, member(SIXTH), { subject: 'Late' })
      await opened.remove(place, { type: 'following', member: THIRD, memberKey: null })
      expect(await opened.startsOf(place.key)).toEqual([FIRST, SECOND])
    })

    test('deletes events, and reports one that is gone', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      const [single, series] = [await opened.create({}), await opened.create(SERIES)]
      expect(await opened.remove(single, { type: 'all' })).toMatchObject({ items: [], gone: [single] })
      await opened.remove(series, { type: 'all' })
      await expect(opened.remove(single, { type: 'all' })).rejects.toMatchObject({ kind: 'not_found' })
      await expect(opened.change(single, ALL, { subject: 'Gone' })).rejects.toMatchObject({
        kind: 'not_found',
      })
      await expect(opened.eventAt(series.key)).rejects.toThrow('has no')
    })

    test('refuses an answer to an event that does not invite the account', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      const place = await opened.create({})
      const asked = { place, part: { type: 'all' }, response: 'accepted', comment: null } as const
      await expect(opened.writer.respond(asked, opened.options)).rejects.toMatchObject({ kind: 'rejected' })
    })

    test('moves events to another calendar, once for all tries', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      const { writer, options } = opened
      const other = await writer.createCalendar({ ...CALENDAR, creationId: randomUUID(), mayExist: false })
      const place = await opened.create(SERIES)
      await opened.change(place, member(SECOND), { subject: 'Once' })
      const asked = { place, toCalendarKey: other.key, creationId: randomUUID() }
      const moved = await writer.moveEvent({ ...asked, mayExist: false }, options)
      const again = await writer.moveEvent({ ...asked, mayExist: true }, options)

      expect(again.place).toEqual(moved.place)
      expect(moved).toMatchObject({ place: { calendarKey: other.key }, gone: [place] })
      await expect(opened.eventAt(place.key)).rejects.toThrow('has no')
      expect(moved.items.filter(({ object }) => object.type === 'item')).toMatchObject([
        { calendarKey: other.key, object: { event: { subject: 'Weekly' } } },
      ])
    })
  })

  describe(`${name}: changing calendars`, () => {
    test('creates a calendar once for all tries, changes and deletes it', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      const { writer } = opened
      const { holds } = arranged
      const creation = { creationId: randomUUID(), mayExist: false }
      const made = await writer.createCalendar({ ...CALENDAR, ...creation })
      expect(made).toMatchObject({ name: CALENDAR.name, access: 'owner' })
      const again = await writer.createCalendar({ ...CALENDAR, ...creation, mayExist: true })
      expect(again.key).toBe(made.key)
      const change = {
        name: 'Renamed',
        ...(holds.description && { description: 'All of us' }),
        ...(holds.color && { color: '#ff8800' }),
      }
      expect(await writer.changeCalendar(made.key, change)).toMatchObject(change)
      await writer.removeCalendar(made.key)
      await expect(writer.changeCalendar(made.key, { name: 'Gone' })).rejects.toMatchObject({
        kind: 'not_found',
      })
    })
  })
}

const CALENDAR = { name: 'Made & written', description: null, color: null, timeZone: null }
