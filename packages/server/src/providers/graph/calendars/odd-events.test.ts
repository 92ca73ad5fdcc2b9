import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addCalendar, shareCalendar } from '../../../../../sandbox/src/microsoft/mailbox/calendars.ts'
import type { EventFields } from '../../../../../sandbox/src/microsoft/mailbox/event.ts'
import {
  addEvent,
  changeEvent,
  changeOccurrence,
  deleteOccurrence,
  removeEvent,
} from '../../../../../sandbox/src/microsoft/mailbox/events.ts'
import { arrangeCalendars, dayOfWall, timesOf, weekly } from '../../../../test/graph/arrange-calendars.ts'
import { type GraphServer, startGraph } from '../../../../test/graph/graph-server.ts'
import type { CalendarWindow, RemoteEvent, RemoteItem } from '../../calendars.ts'
import { never } from '../../conformance/arrangement.ts'
import { type EventIndex, openEventIndex } from '../../conformance/event-index.ts'

let server: GraphServer

beforeAll(async () => {
  server = await startGraph()
})
afterAll(() => server[Symbol.asyncDispose]())

const WINDOW: CalendarWindow = {
  start: new Date('2026-09-01T00:00:00Z'),
  end: new Date('2027-11-29T00:00:00Z'),
}
const DAY_MS = 86_400_000
const HOUR = timesOf('20261201T090000', '20261201T100000')

type NewEvent = Parameters<ReturnType<typeof arrangeCalendars>['addEvent']>

/** A mailbox with some events, which are in the index. */
async function arrange(events: readonly NewEvent[] = [], cloud: 'global' | 'china' = 'global') {
  const arranged = arrangeCalendars(server, cloud)
  const keys = events.map(event => arranged.addEvent(...event))
  const { calendars } = await arranged.connect()
  const [calendar] = await calendars.listCalendars(never)
  const index = openEventIndex(calendar!, WINDOW)
  await index.follow(calendars)
  index.takeSteps()
  return { ...arranged, calendars, index, keys, main: arranged.mailbox.calendars.main }
}

const itemOf = ({ objects }: EventIndex, key: string): RemoteItem => {
  const object = objects.get(key)
  if (object?.type !== 'item') throw new Error(`The index has no event ${key}`)
  return object
}

async function read(fields: Partial<EventFields>): Promise<RemoteEvent | null> {
  const { index, keys } = await arrange([[{ ...HOUR, ...fields }]])
  return itemOf(index, keys[0]!).event
}

describe('a series for which Graph fails', () => {
  test.each([
    ['at its members', /\/instances\?/],
    ['at its exception', null],
  ])('%s is left as it was read, and costs no other event', async (_, failing) => {
    const { index, calendars, keys, mailbox, main, event } = await arrange([
      [HOUR, weekly('20261201T090000', 8)],
      [HOUR],
    ])
    const [series = '', single = ''] = keys
    const day = dayOfWall('20261208T090000')
    changeOccurrence(mailbox, main, event(series), { day, fields: { subject: 'Other' } })
    await index.follow(calendars)
    const before = structuredClone(itemOf(index, series))
    const [exception] = before.members?.exceptions ?? []
    expect(exception?.event.subject).toBe('Other')
    changeEvent(mailbox, main, event(series), { subject: 'Changed' })
    changeEvent(mailbox, main, event(single), { subject: 'Changed' })
    const isFailing = (path: string) => failing?.test(path) ?? path.includes(`events/${exception!.key}`)
    server.intercept = ({ path }) =>
      isFailing(decodeURIComponent(path))
        ? Response.json({ error: { code: 'InternalServerError' } }, { status: 500 })
        : null
    try {
      await index.follow(calendars)
      expect(index.unreadable).toEqual(new Map([[series, null]]))
      expect(itemOf(index, series)).toEqual(before)
      expect(itemOf(index, single).event?.subject).toBe('Changed')
    } finally {
      server.intercept = null
    }
  })
})

const JOIN = 'https://teams.microsoft.com/l/meetup-join/19%3ameeting_x%40thread.v2/0'
const ada = (response: 'accepted' | 'none', type: 'required' | 'resource') => ({
  name: 'Ada',
  address: `${type}@example.com`,
  type,
  status: { response, at: null },
})

describe('the fields of an event', () => {
  test.each<[Partial<EventFields>, Partial<RemoteEvent>]>([
    [{ subject: '' }, { subject: null, location: null, body: null, categories: [], status: 'confirmed' }],
    [{ isCancelled: true }, { status: 'cancelled' }],
    [{ showAs: 'workingElsewhere' }, { showAs: 'working_elsewhere' }],
    [
      { showAs: 'oof', sensitivity: 'private' },
      { showAs: 'oof', sensitivity: 'private' },
    ],
    [{ locations: [{ displayName: 'Room 4' }, { displayName: 'Room 5' }] }, { location: 'Room 4' }],
    [{ categories: ['Red', 'Blue'] }, { categories: ['Red', 'Blue'] }],
    [{ isReminderOn: false, reminderMinutesBeforeStart: 15 }, { reminderMinutes: null }],
    [{ isReminderOn: true, reminderMinutesBeforeStart: 0 }, { reminderMinutes: 0 }],
    [
      { body: { contentType: 'html', content: '<p>Plans</p>' } },
      { body: { contentType: 'html', content: '<p>Plans</p>' } },
    ],
    [
      { joinUrl: JOIN, onlineMeetingProvider: 'teamsForBusiness' },
      { onlineMeetingUrl: JOIN, onlineMeetingProvider: 'teams' },
    ],
    [
      { locations: [{ displayName: 'https://zoom.us/j/123' }] },
      { onlineMeetingUrl: 'https://zoom.us/j/123', onlineMeetingProvider: 'zoom' },
    ],
    [
      { attendees: [ada('accepted', 'required'), ada('none', 'resource')] },
      {
        attendees: [
          { name: 'Ada', address: 'required@example.com', type: 'required', response: 'accepted' },
          { name: 'Ada', address: 'resource@example.com', type: 'resource', response: 'needs_action' },
        ],
      },
    ],
  ])('reads %j', async (given, expected) => {
    expect(await read(given)).toMatchObject(expected)
  })

  test('has the part of the account, its organizer, its link and its UID', async () => {
    const { index, keys, email, mailbox, main, calendars } = await arrange([[HOUR]])
    expect(itemOf(index, keys[0]!)).toMatchObject({
      uid: expect.stringMatching(/^040000008200E00074C5B7101A82E008/),
      recurrence: null,
      members: null,
      occurrences: null,
      event: {
        organizer: { name: 'Eva', address: email },
        self: { isOrganizer: true, response: 'organizer' },
        iCalUid: expect.stringMatching(/^040000008200E00074C5B7101A82E008/),
        webLink: expect.stringMatching(/^https:\/\/outlook\.office365\.com\//),
        hasAttachments: false,
        updatedAt: expect.any(Date),
      },
    })
    const { immutableId } = addEvent(mailbox, main, {
      fields: {
        ...main.events.values().next().value!,
        response: { response: 'tentativelyAccepted', at: null },
      },
      recurrence: null,
      uid: 'X',
      organizer: { name: 'Ada', address: 'ada@example.com' },
      isOrganizer: false,
    })
    await index.follow(calendars)
    expect(itemOf(index, immutableId).event).toMatchObject({
      organizer: { name: 'Ada', address: 'ada@example.com' },
      self: { isOrganizer: false, response: 'tentative' },
    })
  })

  test.each([
    ['a Windows name', 'Eastern Standard Time', { wall: '20261201T030000', zone: 'America/New_York' }],
    ['an IANA name', 'Asia/Kolkata', { wall: '20261201T133000', zone: 'Asia/Kolkata' }],
    ['a zone of its own', 'tzone://Microsoft/Custom', { wall: '20261201T080000', zone: 'UTC' }],
  ])('has its start in its own zone, which has %s', async (_, startZone, start) => {
    expect(await read({ startZone })).toMatchObject({ start })
  })
})

describe('series', () => {
  const SERIES: NewEvent = [{ ...HOUR, subject: 'Weekly' }, weekly('20261201T090000', 8)]

  test('have the occurrences that Exchange gives them, through a change of the clocks', async () => {
    const { index, keys } = await arrange([
      [timesOf('20270315T090000', '20270315T100000'), weekly('20270315T090000', 3)],
    ])
    const { occurrences, recurrence } = itemOf(index, keys[0]!)
    expect(recurrence).toEqual(['RRULE:FREQ=WEEKLY;BYDAY=MO;WKST=SU;INTERVAL=1;COUNT=3'])
    expect(occurrences?.map(({ member, start, end }) => [member, start.wall, end.wall])).toEqual(
      ['20270315', '20270322', '20270329'].map(day => [`${day}T090000`, `${day}T090000`, `${day}T100000`]),
    )
  })

  test('of whole days have days', async () => {
    const { index, keys } = await arrange([[timesOf('20261201', '20261203'), weekly('20261201', 2)]])
    expect(itemOf(index, keys[0]!).occurrences).toMatchObject([
      { member: '20261201', start: { wall: '20261201', zone: null }, end: { wall: '20261203', zone: null } },
      { member: '20261208' },
    ])
  })

  test('keep their occurrences in order if one is moved, and lack the ones that were deleted', async () => {
    const { index, keys, mailbox, main, event, calendars } = await arrange([SERIES])
    const [key] = keys
    const moved = changeOccurrence(mailbox, main, event(key!), {
      day: dayOfWall('20261208'),
      fields: { ...timesOf('20261210T150000', '20261210T160000'), subject: 'Moved' },
    })
    deleteOccurrence(mailbox, main, moved, dayOfWall('20261215'))
    await index.follow(calendars)
    const { members, occurrences } = itemOf(index, key!)
    expect(members).toMatchObject({
      exceptions: [
        {
          member: '20261208T090000',
          key: expect.any(String),
          event: { subject: 'Moved', start: { wall: '20261210T150000', zone: 'Europe/Berlin' } },
        },
      ],
      taken: ['20261215T090000'],
    })
    expect(occurrences).toHaveLength(7)
  })

  test('are gone with all their occurrences, of which alone a delta reports', async () => {
    const { index, keys, mailbox, main, event, calendars } = await arrange([SERIES, [HOUR]])
    removeEvent(mailbox, main, event(keys[0]!))
    await index.follow(calendars)
    expect([...index.objects.keys()]).toEqual([keys[1]])
  })

  test('become single events, and single events become series', async () => {
    const { index, keys, mailbox, main, event, calendars } = await arrange([SERIES, [HOUR]])
    changeEvent(mailbox, main, event(keys[0]!), { recurrence: null })
    changeEvent(mailbox, main, event(keys[1]!), { recurrence: weekly('20261201T090000', 3) })
    await index.follow(calendars)
    expect(itemOf(index, keys[0]!)).toMatchObject({ recurrence: null, members: null, occurrences: null })
    expect(itemOf(index, keys[1]!).occurrences).toHaveLength(3)
  })

  test.each([
    [
      'a recurrence of another form',
      { recurrence: { pattern: { type: 'hourly', interval: 1 }, range: { type: 'noEnd' } } },
    ],
    ['a start that is no time', { start: { dateTime: 'soon', timeZone: 'UTC' } }],
    ['a recurrence that is a text', { recurrence: 'FREQ=DAILY' }],
  ])('with %s are reported as unreadable, and read once they have another version', async (_, fields) => {
    const { index, keys, calendars, mailbox, main, event } = await arrange([SERIES])
    const [key] = keys
    const whole = {
      id: key,
      changeKey: 'odd',
      start: { dateTime: '2026-12-01T08:00:00.0000000', timeZone: 'UTC' },
      recurrence: { pattern: { type: 'daily', interval: 1 }, range: { type: 'noEnd' } },
      ...fields,
    }
    server.intercept = call =>
      call.path.includes(`/events/${encodeURIComponent(key!)}?`) ? Response.json(whole) : null
    changeEvent(mailbox, main, event(key!), { subject: 'Renamed' })
    await index.follow(calendars)
    server.intercept = null
    expect(index.unreadable).toEqual(new Map([[key, 'odd']]))
    changeEvent(mailbox, main, event(key!), { subject: 'Again' })
    await index.follow(calendars)
    expect(index.unreadable.size).toBe(0)
    expect(itemOf(index, key!).event).toMatchObject({ subject: 'Again' })
  })
})

describe('following', () => {
  test('reads an event again of which a delta reports only a few fields', async () => {
    const { index, keys, calendars, mailbox, main, event } = await arrange([[{ ...HOUR, subject: 'Talk' }]])
    server.intercept = async call => {
      if (!call.path.includes('/calendarView/delta')) return null
      const link = `https://graph.microsoft.com${call.path}0`
      return Response.json({ value: [{ id: keys[0], subject: null }], '@odata.deltaLink': link })
    }
    changeEvent(mailbox, main, event(keys[0]!), { categories: ['Red'] })
    await index.follow(calendars)
    server.intercept = null
    expect(itemOf(index, keys[0]!).event).toMatchObject({ subject: 'Talk', categories: ['Red'] })
  })

  test('renews the calendar whose link expired, and no other', async () => {
    const { mailbox, calendars, index } = await arrange([[HOUR]])
    const travel = addCalendar(mailbox, 'Travel', 'auto')
    const listed = await calendars.listCalendars(never)
    const other = openEventIndex(
      listed.find(({ key }) => key === travel.id)!,
      WINDOW,
    )
    await other.follow(calendars)
    server.mail.configure({ generationsKept: 1 })
    const again = openEventIndex(index.calendar, WINDOW)
    try {
      // A link that is not the newest of its query has expired.
      const old = index.cursor
      await index.follow(calendars)
      index.cursor = old
      index.comparisons = 0
      other.comparisons = 0
      await index.follow(calendars)
      await other.follow(calendars)
    } finally {
      server.mail.configure({ generationsKept: null })
    }
    expect([index.comparisons, other.comparisons]).toEqual([1, 0])
    await again.follow(calendars)
    expect(again.objects).toEqual(index.objects)
  })

  test('compares a calendar once a week, with the window of then, though nothing shows a change', async () => {
    const late = timesOf('20271202T090000', '20271202T100000')
    const { index, keys, email } = await arrange([[HOUR], [late]])
    expect([...index.objects.keys()]).toEqual([keys[0]])
    let now = Date.now()
    const { calendars } = server.connect(email, { now: () => now })
    const { calendar } = index
    const look = () => calendars.findChanged([{ calendar, cursor: index.cursor }], never)
    const pass = async (days: number) => {
      const [start, end] = [WINDOW.start, WINDOW.end].map(at => new Date(at.getTime() + days * DAY_MS))
      const from = { calendar, window: { start: start!, end: end! }, cursor: index.cursor, signal: never }
      const steps = []
      for await (const step of calendars.follow({ ...from, known: async () => index.versions() }))
        steps.push(step)
      return steps.flatMap(step => (step.type === 'items' ? step.items.map(({ key }) => key) : []))
    }
    now += 6 * DAY_MS
    expect(await look()).toEqual(new Set())
    expect(await pass(6)).toEqual([])
    now += DAY_MS
    expect(await look()).toEqual(new Set([calendar.key]))
    expect(await pass(7)).toEqual([keys[1]])
    // Settings may have another window from now on.
    now -= DAY_MS
    expect(await pass(30)).toEqual([keys[1]])
  })

  test('keeps an event that left the window, and loses it once it was deleted', async () => {
    const { index, keys, calendars, mailbox, main, event } = await arrange([[HOUR]])
    changeEvent(mailbox, main, event(keys[0]!), timesOf('20280101T090000', '20280101T100000'))
    await index.follow(calendars)
    expect(itemOf(index, keys[0]!).event).toMatchObject({ start: { wall: '20280101T090000' } })
    removeEvent(mailbox, main, event(keys[0]!))
    index.cursor = null
    await index.follow(calendars)
    expect(index.objects.size).toBe(0)
  })

  test('lets every call of its mail go first', async () => {
    const arranged = arrangeCalendars(server)
    arranged.addEvent(HOUR, weekly('20261201T090000', 3))
    const urgencies = new Set<string>()
    const { calendars } = server.connect(arranged.email, {
      observer: { ended: (_, urgency) => urgencies.add(urgency), waited: () => {}, slot: () => {} },
    })
    const [calendar] = await calendars.listCalendars(never)
    const index = openEventIndex(calendar!, WINDOW)
    await index.follow(calendars)
    await calendars.findChanged([{ calendar: calendar!, cursor: index.cursor }], never)
    expect([...urgencies]).toEqual(['late'])
  })
})

describe('calendars', () => {
  test('are read with their color, owner and rights', async () => {
    const { mailbox, calendars, email } = await arrange()
    addCalendar(mailbox, 'Travel', 'lightRed')
    const other = arrangeCalendars(server)
    other.addEvent({ ...HOUR, subject: 'Dentist' })
    shareCalendar(mailbox, other.mailbox.calendars.main, 'read')
    const listed = await calendars.listCalendars(never)
    const none = { description: null, timeZone: 'UTC', isHidden: false }
    expect(listed).toMatchObject([
      { ...none, name: 'Calendar', color: null, isPrimary: true, access: 'owner', owner: { address: email } },
      { ...none, name: 'Travel', color: '#f88c9b', isPrimary: false, access: 'owner' },
      { ...none, access: 'reader', isPrimary: false, owner: { name: 'Eva', address: other.email } },
    ])
    const shared = openEventIndex(listed[2]!, WINDOW)
    await shared.follow(calendars)
    // The account is not the organizer of what another one organizes.
    expect(shared.items().map(({ event }) => [event?.subject, event?.self])).toEqual([['Dentist', null]])
    shareCalendar(mailbox, other.mailbox.calendars.main, 'write')
    expect((await calendars.listCalendars(never))[2]).toMatchObject({ access: 'writer' })
  })
})
