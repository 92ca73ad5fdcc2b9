import { describe, expect, test } from 'vitest'
import type { RemoteEvent } from '../calendars.ts'
import { ProviderFailure } from '../failure.ts'
import type { EventSurroundings } from './event-fields.ts'
import { EventReader } from './reading.ts'

const AROUND: EventSurroundings = {
  access: 'owner',
  timeZone: 'Europe/Berlin',
  defaultReminders: [
    { method: 'email', minutes: 5 },
    { method: 'popup', minutes: 30 },
    { method: 'popup', minutes: 10 },
  ],
}

const at = (dateTime: string, timeZone?: string) => ({ dateTime, ...(timeZone && { timeZone }) })
const BERLIN = 'Europe/Berlin'
const SINGLE = {
  kind: 'calendar#event',
  etag: '"3181161784712000"',
  id: 'abcde',
  status: 'confirmed',
  start: at('2026-12-01T09:00:00+01:00', BERLIN),
  end: at('2026-12-01T10:30:00+01:00', BERLIN),
}
const SERIES = { ...SINGLE, id: 'series', recurrence: ['RRULE:FREQ=DAILY'] }

/** Series that are found if they are asked for. */
async function read(
  answered: readonly unknown[],
  around: Partial<EventSurroundings> = {},
  series: Readonly<Record<string, unknown>> = {},
) {
  const asked: string[] = []
  const reader = new EventReader(async key => {
    asked.push(key)
    return series[key] ?? null
  })
  return { ...(await reader.read(answered, { ...AROUND, ...around })), asked }
}

async function readSingle(event: object, around: Partial<EventSurroundings> = {}): Promise<RemoteEvent> {
  const { objects, unreadable } = await read([{ ...SINGLE, ...event }], around)
  expect(unreadable).toEqual([])
  return objects[0]!.event!
}

describe('the fields of an event', () => {
  test.each<[string, object, Partial<RemoteEvent>, Partial<EventSurroundings>?]>([
    [
      'a start and an end in two zones',
      { end: at('2026-12-01T10:30:00+01:00', 'America/New_York') },
      {
        start: { wall: '20261201T090000', zone: BERLIN },
        end: { wall: '20261201T043000', zone: 'America/New_York' },
      },
    ],
    [
      'times without a zone in that of the answer',
      { start: at('2026-12-01T09:00:00+01:00'), end: at('2026-12-01T10:00:00+01:00') },
      { start: { wall: '20261201T090000', zone: BERLIN }, end: { wall: '20261201T100000', zone: BERLIN } },
    ],
    [
      'a zone that nobody knows as that of the answer',
      { start: at('2026-12-01T09:00:00+01:00', 'GMT-03:00') },
      { start: { wall: '20261201T090000', zone: BERLIN } },
    ],
    [
      'times without any zone in UTC',
      { start: at('2026-12-01T09:00:00.5+01:00'), end: at('2026-12-01T10:00:00+01:00') },
      { start: { wall: '20261201T080000', zone: 'UTC' } },
      { timeZone: null },
    ],
    [
      'the wall clock that Google shows, although its zone data differ from ours',
      { start: at('2026-12-01T09:00:00+03:00', BERLIN), end: at('2026-12-01T10:00:00+03:00', BERLIN) },
      { start: { wall: '20261201T090000', zone: BERLIN } },
    ],
    [
      'a time without an offset',
      { start: at('2026-12-01T08:00:00', 'America/New_York') },
      { start: { wall: '20261201T080000', zone: 'America/New_York' } },
    ],
    [
      'whole days up to the day after the last',
      { start: { date: '2026-12-24' }, end: { date: '2026-12-27' } },
      { start: { wall: '20261224', zone: null }, end: { wall: '20261227', zone: null } },
    ],
    [
      'a day without an end as one day',
      { start: { date: '2026-12-31' }, end: undefined },
      { end: { wall: '20270101', zone: null } },
    ],
    [
      'an unspecified end as the one that is given',
      { endTimeUnspecified: true },
      { end: { wall: '20261201T103000', zone: BERLIN } },
    ],
    [
      'a missing end as the start',
      { endTimeUnspecified: true, end: undefined },
      { end: { wall: '20261201T090000', zone: BERLIN } },
    ],
    [
      'an end before the start as the start',
      { end: at('2026-12-01T07:00:00+01:00', BERLIN) },
      { end: { wall: '20261201T090000', zone: BERLIN } },
    ],
    ['a subject on one line', { summary: ' A\r\nB\u0007 ' }, { subject: 'A B' }],
    [
      'no subject, as where only free and busy times are shown',
      { visibility: 'private' },
      { subject: null, sensitivity: 'private' },
    ],
    [
      'a description with tags as HTML',
      { description: '<p>Agenda: <b>plans</b> &amp; budget</p>' },
      { body: { contentType: 'html', content: '<p>Agenda: <b>plans</b> &amp; budget</p>' } },
    ],
    [
      'a description without tags as text',
      { description: 'Plans &amp; budget\r\n1 &lt; 2 < 3 > 2' },
      { body: { contentType: 'text', content: 'Plans & budget\n1 < 2 < 3 > 2' } },
    ],
    [
      'a description of a million characters whole',
      { description: 'x'.repeat(1_000_001) },
      { body: { contentType: 'text', content: 'x'.repeat(1_000_000) } },
    ],
    ['a blank description as none', { description: ' \n' }, { body: null }],
    [
      'attendees of each kind, each address once',
      {
        attendees: [
          { email: 'ann@example.com', displayName: 'Ann', responseStatus: 'accepted' },
          { email: 'ANN@example.com', responseStatus: 'declined' },
          {
            email: 'bob@example.com',
            displayName: 'bob@example.com',
            optional: true,
            responseStatus: 'tentative',
          },
          { email: 'room@resource.calendar.google.com', resource: true, responseStatus: 'declined' },
          { email: 'cid@example.com', responseStatus: 'delegated', additionalGuests: 2 },
          { id: '1234', displayName: 'Without an address' },
          'odd',
        ],
      },
      {
        attendees: [
          { name: 'Ann', address: 'ann@example.com', type: 'required', response: 'accepted' },
          { name: null, address: 'bob@example.com', type: 'optional', response: 'tentative' },
          {
            name: null,
            address: 'room@resource.calendar.google.com',
            type: 'resource',
            response: 'declined',
          },
          { name: null, address: 'cid@example.com', type: 'required', response: 'needs_action' },
        ],
      },
    ],
    [
      'an event that the account organizes',
      { organizer: { email: 'ann@example.com', displayName: 'Ann', self: true } },
      {
        organizer: { name: 'Ann', address: 'ann@example.com' },
        self: { isOrganizer: true, response: 'organizer' },
      },
    ],
    [
      'an event to which the account is invited',
      {
        organizer: { email: 'ann@example.com' },
        attendees: [
          { email: 'ann@example.com', organizer: true, responseStatus: 'accepted' },
          { email: 'bob@example.com', self: true, responseStatus: 'tentative' },
        ],
      },
      { self: { isOrganizer: false, response: 'tentative' } },
    ],
    [
      'an event of others, in the own calendar',
      { organizer: { email: 'ann@example.com' } },
      { self: { isOrganizer: false, response: 'none' } },
    ],
    [
      'an event in a calendar that is only read by its addresses',
      { organizer: { email: 'ann@example.com', self: true } },
      { self: null },
      { access: 'reader' },
    ],
    ['a tentative event', { status: 'tentative' }, { status: 'tentative', showAs: 'busy' }],
    ['an event that leaves the time free', { transparency: 'transparent' }, { showAs: 'free' }],
    ['an absence', { eventType: 'outOfOffice' }, { showAs: 'oof' }],
    [
      'work at home',
      { eventType: 'workingLocation', workingLocationProperties: { type: 'homeOffice' } },
      { showAs: 'working_elsewhere' },
    ],
    [
      'work in the office',
      { eventType: 'workingLocation', workingLocationProperties: { type: 'officeLocation' } },
      { showAs: 'free' },
    ],
    ['time to focus', { eventType: 'focusTime' }, { showAs: 'busy' }],
    [
      'a birthday',
      { eventType: 'birthday', transparency: 'transparent', visibility: 'private' },
      { showAs: 'free', sensitivity: 'private' },
    ],
    ['a confidential event', { visibility: 'confidential' }, { sensitivity: 'confidential' }],
    ['a public event', { visibility: 'public' }, { sensitivity: 'normal' }],
    [
      'a conference of Google Meet',
      {
        hangoutLink: 'https://meet.google.com/abc-defg-hij',
        conferenceData: {
          entryPoints: [
            { entryPointType: 'phone', uri: 'tel:+1-234-567' },
            { entryPointType: 'video', uri: 'https://meet.google.com/abc-defg-hij' },
          ],
          conferenceSolution: { key: { type: 'hangoutsMeet' } },
        },
      },
      { onlineMeetingUrl: 'https://meet.google.com/abc-defg-hij', onlineMeetingProvider: 'google_meet' },
    ],
    [
      'a conference that is still being made',
      {
        conferenceData: {
          createRequest: {
            requestId: '1',
            conferenceSolutionKey: { type: 'hangoutsMeet' },
            status: { statusCode: 'pending' },
          },
        },
      },
      { onlineMeetingUrl: null, onlineMeetingProvider: 'google_meet' },
    ],
    [
      'a conference that could not be made',
      {
        conferenceData: {
          createRequest: {
            conferenceSolutionKey: { type: 'hangoutsMeet' },
            status: { statusCode: 'failure' },
          },
        },
      },
      { onlineMeetingUrl: null, onlineMeetingProvider: null },
    ],
    [
      'a conference of an add-on',
      {
        conferenceData: {
          entryPoints: [{ entryPointType: 'video', uri: 'https://example.zoom.us/j/123?pwd=x' }],
          conferenceSolution: { key: { type: 'addOn' } },
        },
      },
      { onlineMeetingUrl: 'https://example.zoom.us/j/123?pwd=x', onlineMeetingProvider: 'zoom' },
    ],
    [
      'a conference that can only be called',
      { conferenceData: { entryPoints: [{ entryPointType: 'phone', uri: 'tel:+1-234-567' }] } },
      { onlineMeetingUrl: null, onlineMeetingProvider: null },
    ],
    [
      'a link of a known service in the location',
      { location: 'https://teams.microsoft.com/l/meetup-join/19%3a' },
      { onlineMeetingUrl: 'https://teams.microsoft.com/l/meetup-join/19%3a', onlineMeetingProvider: 'teams' },
    ],
    ['the default reminder that pops up last', { reminders: { useDefault: true } }, { reminderMinutes: 10 }],
    [
      'no default reminder on a whole day',
      { start: { date: '2026-12-24' }, end: { date: '2026-12-25' }, reminders: { useDefault: true } },
      { reminderMinutes: null },
    ],
    [
      'own reminders in place of the default ones',
      { reminders: { useDefault: false, overrides: [{ method: 'email', minutes: 1_440 }] } },
      { reminderMinutes: 1_440 },
    ],
    ['no reminders', { reminders: { useDefault: false } }, { reminderMinutes: null }],
    ['attachments', { attachments: [{ fileUrl: 'https://drive.google.com/x' }] }, { hasAttachments: true }],
    [
      'its UID, link and last change',
      {
        iCalUID: 'abcde@google.com',
        htmlLink: 'https://www.google.com/calendar/event?eid=abc',
        updated: '2026-11-01T10:00:00.123Z',
        extendedProperties: { private: { key: 'value' } },
      },
      {
        iCalUid: 'abcde@google.com',
        webLink: 'https://www.google.com/calendar/event?eid=abc',
        updatedAt: new Date('2026-11-01T10:00:00.123Z'),
      },
    ],
    [
      'fields of another form as absent',
      {
        summary: 7,
        description: {},
        attendees: 'ann@example.com',
        organizer: [],
        reminders: 'none',
        conferenceData: 'x',
        htmlLink: 'javascript:alert(1)',
        updated: 'yesterday',
        attachments: {},
      },
      {
        subject: null,
        body: null,
        attendees: [],
        organizer: null,
        reminderMinutes: null,
        onlineMeetingUrl: null,
        webLink: null,
        updatedAt: null,
        hasAttachments: false,
        self: { isOrganizer: true, response: 'none' },
      },
    ],
  ])('shows %s', async (_, event, expected, around) => {
    expect(await readSingle(event, around)).toMatchObject(expected)
  })
})

describe('series and their members', () => {
  test('takes the dates from the recurrence of a series', async () => {
    const rule = 'RRULE:FREQ=WEEKLY;BYDAY=TU'
    const { objects } = await read([
      {
        ...SERIES,
        recurrence: [
          rule,
          'EXDATE;TZID=America/New_York:20261208T030000',
          'EXDATE;VALUE=DATE:20261215',
          'RDATE:20261210T080000Z',
          'X-OTHER:1',
        ],
      },
    ])
    expect(objects).toMatchObject([
      {
        type: 'item',
        key: 'series',
        version: SINGLE.etag,
        recurrence: [rule, 'RDATE:20261210T080000Z'],
        members: null,
        excluded: ['20261208T090000', '20261215'],
      },
    ])
  })

  test('names members by the wall clock of the series, also those that were moved', async () => {
    const member = (id: string, originalStartTime: object, more: object = {}) => ({
      ...SINGLE,
      id,
      recurringEventId: 'series',
      originalStartTime,
      ...more,
    })
    const { objects, asked } = await read([
      member('moved', at('2026-12-02T09:00:00+01:00', BERLIN), {
        start: at('2026-12-05T22:00:00+01:00', 'UTC'),
      }),
      member('day', { date: '2026-12-03' }, { start: { date: '2026-12-04' }, end: { date: '2026-12-05' } }),
      {
        id: 'taken',
        status: 'cancelled',
        recurringEventId: 'series',
        originalStartTime: at('2026-12-04T03:00:00-05:00', 'America/New_York'),
      },
    ])
    expect(objects).toMatchObject([
      {
        type: 'member',
        key: 'moved',
        seriesKey: 'series',
        member: '20261202T090000',
        event: { start: { wall: '20261205T210000', zone: 'UTC' } },
      },
      { type: 'member', key: 'day', member: '20261203', event: { start: { wall: '20261204' } } },
      { type: 'member', key: 'taken', version: 'cancelled', member: '20261204T030000', event: null },
    ])
    expect(asked).toEqual([])
  })

  test.each([
    ['in the same answer', [{ ...SERIES, start: at('2026-12-01T02:30:00+01:00', BERLIN) }], {}, []],
    ['that is asked for', [], { series: { start: at('2026-12-01T02:30:00+01:00', BERLIN) } }, ['series']],
  ])('names a member in a gap of the clock as its series %s does', async (_, listed, series, expected) => {
    const original = at('2027-03-28T03:30:00+02:00', BERLIN)
    const members = ['one', 'two'].map(id => ({
      ...SINGLE,
      id,
      recurringEventId: 'series',
      originalStartTime: original,
    }))
    const { objects, asked } = await read([...members, ...listed], {}, series)
    const names = objects.flatMap(object => (object.type === 'member' ? object.member : []))
    expect(names).toEqual(['20270328T023000', '20270328T023000'])
    expect(asked).toEqual(expected)
  })

  test('asks the series for the zone of a member without one, and takes that of the answer if it is gone', async () => {
    const taken = (recurringEventId: string) => ({
      id: `${recurringEventId}_1`,
      status: 'cancelled',
      recurringEventId,
      originalStartTime: at('2026-12-04T15:00:00+01:00'),
    })
    const series = { far: { start: at('2026-12-01T15:00:00+01:00', 'America/New_York') } }
    const { objects, asked } = await read([taken('far'), taken('gone')], {}, series)
    expect(objects).toMatchObject([{ member: '20261204T090000' }, { member: '20261204T150000' }])
    expect(asked).toEqual(['far', 'gone'])
  })

  test('reports deleted events as gone, and not the members that went with their series', async () => {
    const read_ = await read([
      {
        id: 'series_1',
        status: 'cancelled',
        recurringEventId: 'series',
        originalStartTime: { date: '2026-12-04' },
      },
      { id: 'series', status: 'cancelled' },
      { id: 'single', status: 'cancelled', etag: '"1"' },
    ])
    expect(read_).toMatchObject({ objects: [], unreadable: [], gone: ['series', 'single'] })
  })
})

describe('events that cannot be read', () => {
  test.each([
    ['without a start', { start: undefined }, 'The field start of the event has another form'],
    ['with a start that is none', { start: at('soon') }, 'The event has no start that can be read'],
    [
      'on a day that does not exist',
      { start: { date: '2026-02-30' } },
      'The event has no start that can be read',
    ],
    [
      'with a time in place of a day',
      { start: { date: '2026-02-03T10:00:00Z' } },
      'The event has no start that can be read',
    ],
    [
      'with a recurrence of another form',
      { recurrence: [7] },
      'The field recurrence.0 of the event has another form',
    ],
    [
      'with more dates than are read',
      {
        recurrence: [
          'RRULE:FREQ=DAILY',
          `EXDATE:${Array.from({ length: 10_001 }, () => '20261201T080000Z').join()}`,
        ],
      },
      'The series lacks more than 10000 members',
    ],
    [
      'that does not name its place in its series',
      { recurringEventId: 'series' },
      'The event does not name its place in its series',
    ],
  ])('reports an event %s, and reads the others', async (_, event, reason) => {
    const { objects, unreadable } = await read([{ ...SINGLE, ...event, id: 'odd' }, SINGLE])
    expect(unreadable).toEqual([{ key: 'odd', version: SINGLE.etag, reason }])
    expect(objects.map(({ key }) => key)).toEqual([SINGLE.id])
  })

  test('refuses an answer with an event that has no id', async () => {
    await expect(read([SINGLE, { status: 'confirmed' }])).rejects.toThrow(ProviderFailure)
  })
})
