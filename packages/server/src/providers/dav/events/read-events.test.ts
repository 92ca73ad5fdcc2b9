import { describe, expect, test } from 'vitest'
import { BERLIN, calendarFile, eventText } from '../../../../test/servers/event-text.ts'
import { zoneOfTzid } from '../../../kit/zones/zone-of-tzid.ts'
import { toInstant } from '../../../kit/zones/zones.ts'
import type { RemoteEvent } from '../../calendars.ts'
import { UnreadableEvents } from './event-file.ts'
import { readEvents } from './read-events.ts'

const window = { start: new Date('2026-09-01T00:00:00Z'), end: new Date('2027-11-29T00:00:00Z') }

const read = (components: readonly string[]) =>
  readEvents(
    Buffer.from(calendarFile(components)),
    (tzid, definition) => zoneOfTzid({ tzid, definition, preferred: 'America/New_York', window }).zone,
  )

/** The event of a file with one VEVENT that has these lines and a start. */
function eventOf(
  lines: readonly string[],
  start = 'DTSTART;TZID=Europe/Berlin:20261201T090000',
): RemoteEvent {
  return read([eventText('one', [start, ...lines])])!.event!
}

/** Berlin’s rules under another TZID, as the text of a property. */
const defined = (tzid: string) => BERLIN.replace('TZID:Europe/Berlin', `TZID:${tzid}`)

const at = (wall: string, zone: string | null = 'Europe/Berlin') => ({ wall, zone })
const NINE = at('20261201T090000')

describe('times', () => {
  const TABLE: ReadonlyArray<readonly [string, readonly string[], { start: object; end: object }]> = [
    [
      'an end',
      ['DTSTART;TZID=Europe/Berlin:20261201T090000', 'DTEND;TZID=Europe/Berlin:20261201T100000'],
      { start: NINE, end: at('20261201T100000') },
    ],
    [
      'an end in another zone',
      ['DTSTART;TZID=Europe/Berlin:20261201T090000', 'DTEND;TZID=Asia/Tokyo:20261201T190000'],
      { start: NINE, end: at('20261201T190000', 'Asia/Tokyo') },
    ],
    ['no end', ['DTSTART;TZID=Europe/Berlin:20261201T090000'], { start: NINE, end: NINE }],
    [
      'an end before the start',
      ['DTSTART;TZID=Europe/Berlin:20261201T090000', 'DTEND;TZID=Europe/Berlin:20261201T080000'],
      { start: NINE, end: NINE },
    ],
    [
      'an end that cannot be read',
      ['DTSTART;TZID=Europe/Berlin:20261201T090000', 'DTEND:tomorrow', 'DURATION:PT15M'],
      { start: NINE, end: at('20261201T091500') },
    ],
    [
      'a duration over the end of summer time',
      ['DTSTART;TZID=Europe/Berlin:20261025T013000', 'DURATION:PT3H'],
      { start: at('20261025T013000'), end: at('20261025T033000') },
    ],
    [
      'a day of duration over the end of summer time',
      ['DTSTART;TZID=Europe/Berlin:20261024T120000', 'DURATION:P1D'],
      { start: at('20261024T120000'), end: at('20261025T120000') },
    ],
    [
      'a duration out of all years',
      ['DTSTART;TZID=Europe/Berlin:99991231T230000', 'DURATION:P9999D'],
      { start: at('99991231T230000'), end: at('99991231T230000') },
    ],
    [
      'UTC',
      ['DTSTART:20261201T090000Z', 'DTEND:20261201T100000Z'],
      { start: at('20261201T090000', 'UTC'), end: at('20261201T100000', 'UTC') },
    ],
    [
      'floating times',
      ['DTSTART:20261201T090000', 'DTEND:20261201T100000'],
      { start: at('20261201T090000', null), end: at('20261201T100000', null) },
    ],
    ['a day', ['DTSTART;VALUE=DATE:20261224'], { start: at('20261224', null), end: at('20261225', null) }],
    [
      'days without their type',
      ['DTSTART:20261224', 'DTEND:20261227'],
      { start: at('20261224', null), end: at('20261227', null) },
    ],
    [
      'a day that ends where it starts',
      ['DTSTART;VALUE=DATE:20261224', 'DTEND;VALUE=DATE:20261224'],
      { start: at('20261224', null), end: at('20261225', null) },
    ],
    [
      'a day with an end in time',
      ['DTSTART;VALUE=DATE:20261224', 'DTEND:20261225T120000Z'],
      { start: at('20261224', null), end: at('20261226', null) },
    ],
    [
      'a name of Windows',
      ['DTSTART;TZID=W. Europe Standard Time:20261201T090000'],
      { start: NINE, end: NINE },
    ],
    [
      'a path of a vendor',
      ['DTSTART;TZID=/citadel.org/20260101_1/Europe/Berlin:20261201T090000'],
      { start: NINE, end: NINE },
    ],
    [
      'a zone that nobody knows',
      ['DTSTART;TZID=Nowhere:20261201T090000'],
      { start: at('20261201T090000', 'America/New_York'), end: at('20261201T090000', 'America/New_York') },
    ],
    [
      'the extended form',
      ['DTSTART:2026-12-01T09:00:00Z'],
      { start: at('20261201T090000', 'UTC'), end: at('20261201T090000', 'UTC') },
    ],
  ]

  test.each(TABLE)('are read with %s', (_, lines, expected) => {
    expect(read([eventText('one', lines)])!.event).toMatchObject(expected)
  })

  test('of an unknown TZID are those of its definition', () => {
    const found = read([
      defined('(UTC+01:00) Amsterdam\\, Berlin'),
      eventText('one', ['DTSTART;TZID="(UTC+01:00) Amsterdam, Berlin":20261201T090000']),
    ])!
    const { wall, zone } = found.event!.start
    expect(toInstant(wall, zone!)).toBe(Date.UTC(2026, 11, 1, 8))
  })

  test('of one TZID have one zone in all lines of an event', () => {
    const tzid = 'TZID=Eastern Standard Time'
    const found = read([
      defined('Eastern Standard Time'),
      eventText('one', [
        `DTSTART;${tzid}:20261201T090000`,
        'RRULE:FREQ=DAILY',
        `EXDATE;${tzid}:20261202T090000`,
      ]),
      eventText('one', [`RECURRENCE-ID;${tzid}:20261203T090000`, `DTSTART;${tzid}:20261203T100000`]),
    ])!
    expect(found.members).toMatchObject({
      taken: ['20261202T090000'],
      exceptions: [{ member: '20261203T090000' }],
    })
  })
})

describe('fields', () => {
  test('of Google: attendees, a conference and an HTML description', () => {
    const event = eventOf([
      'SUMMARY:Plan\\, then act',
      'ORGANIZER;CN=Ada:mailto:ada@example.org',
      'ATTENDEE;CUTYPE=INDIVIDUAL;ROLE=REQ-PARTICIPANT;PARTSTAT=ACCEPTED;CN="Bob, Jr.":mailto:bob@example.org',
      'ATTENDEE;CUTYPE=RESOURCE;PARTSTAT=DECLINED:mailto:room%2B1@example.org',
      'ATTENDEE;ROLE=OPT-PARTICIPANT;PARTSTAT=TENTATIVE;CN=cid@example.org:MAILTO:cid@example.org',
      'ATTENDEE:mailto:BOB@example.org',
      'ATTENDEE:not an address',
      'X-GOOGLE-CONFERENCE:https://meet.google.com/abc-defg-hij',
      'CLASS:PRIVATE',
      'STATUS:TENTATIVE',
      'LAST-MODIFIED:20261102T080910Z',
    ])
    expect(event).toMatchObject({
      subject: 'Plan, then act',
      organizer: { name: 'Ada', address: 'ada@example.org' },
      attendees: [
        { name: 'Bob, Jr.', address: 'bob@example.org', type: 'required', response: 'accepted' },
        { name: null, address: 'room+1@example.org', type: 'resource', response: 'declined' },
        { name: null, address: 'cid@example.org', type: 'optional', response: 'tentative' },
      ],
      self: null,
      onlineMeetingUrl: 'https://meet.google.com/abc-defg-hij',
      onlineMeetingProvider: 'google_meet',
      sensitivity: 'private',
      status: 'tentative',
      updatedAt: new Date('2026-11-02T08:09:10Z'),
      iCalUid: 'one',
    })
  })

  test.each(['PARTSTAT=DELEGATED;', 'PARTSTAT=X-LATER;', ''])(
    'of an attendee with "%s" need an answer',
    status => {
      const { attendees } = eventOf([`ATTENDEE;${status}CN=Bob:mailto:bob@example.org`])
      expect(attendees).toMatchObject([{ response: 'needs_action' }])
    },
  )

  test('of attendees are those of the first 500, with names of at most 255 characters', () => {
    const lines = Array.from(
      { length: 501 },
      (_, nth) => `ATTENDEE;CN=${'N'.repeat(256)}:mailto:a${nth}@b.org`,
    )
    const { attendees } = eventOf(lines)
    expect(attendees).toHaveLength(500)
    expect(attendees[0]).toMatchObject({ name: 'N'.repeat(255) })
  })

  test('of Outlook: an HTML body, its busy status and the link of its body', () => {
    const event = eventOf([
      'DESCRIPTION:Plain',
      'X-ALT-DESC;FMTTYPE=text/html:<p>Join: <a href="https://teams.microsoft.com/l/meetup-join/19%3ameeting/0?a=1&amp;b=2">here</a></p>',
      'X-MICROSOFT-CDO-BUSYSTATUS:OOF',
      'TRANSP:OPAQUE',
      'CATEGORIES:Red,Blue\\, dark',
      'CATEGORIES:Red',
      'ATTACH:https://example.org/a.pdf',
      'URL:https://example.org/event',
    ])
    expect(event).toMatchObject({
      body: { contentType: 'html' },
      showAs: 'oof',
      categories: ['Red', 'Blue, dark'],
      hasAttachments: true,
      webLink: 'https://example.org/event',
      onlineMeetingUrl: 'https://teams.microsoft.com/l/meetup-join/19%3ameeting/0?a=1&b=2',
      onlineMeetingProvider: 'teams',
    })
  })

  test('of Thunderbird: the HTML of a description in its ALTREP', () => {
    const event = eventOf(['DESCRIPTION;ALTREP="data:text/html,%3Cb%3EHi%3C%2Fb%3E":Hi'])
    expect(event.body).toEqual({ contentType: 'html', content: '<b>Hi</b>' })
  })

  test.each([
    [['TRANSP:TRANSPARENT', 'X-MICROSOFT-CDO-BUSYSTATUS:BUSY'], 'free'],
    [['TRANSP:OPAQUE', 'X-MICROSOFT-CDO-BUSYSTATUS:FREE'], 'busy'],
    [['X-MICROSOFT-CDO-BUSYSTATUS:FREE'], 'free'],
    [['X-MICROSOFT-CDO-BUSYSTATUS:TENTATIVE'], 'tentative'],
    [['TRANSP:TRANSPARENT', 'X-MICROSOFT-CDO-BUSYSTATUS:WORKINGELSEWHERE'], 'working_elsewhere'],
    [[], 'busy'],
  ] as const)('are shown with %j as %s', (lines, showAs) => {
    expect(eventOf(lines).showAs).toBe(showAs)
  })

  const alarm = (...lines: string[]) => ['BEGIN:VALARM', 'ACTION:DISPLAY', ...lines, 'END:VALARM']
  test.each([
    [alarm('TRIGGER:-PT15M'), 15],
    [alarm('TRIGGER;RELATED=END:-PT90M'), 30],
    [alarm('TRIGGER;VALUE=DATE-TIME:20261201T070000Z'), 60],
    [[...alarm('TRIGGER:PT5M'), ...alarm('TRIGGER:-P1D')], 1440],
    [alarm('TRIGGER:PT0S'), 0],
    [['BEGIN:VALARM', 'ACTION:NONE', 'TRIGGER:-PT15M', 'END:VALARM'], null],
    [alarm('TRIGGER:soon'), null],
  ])('remind with %j of %s minutes', (lines, minutes) => {
    expect(eventOf(['DURATION:PT1H', ...lines]).reminderMinutes).toBe(minutes)
  })

  test('of a malformed line cost that line only', () => {
    const event = eventOf(['no colon here', 'LOCATION:Room 1', 'ATTENDEE;CN="x', 'DTSTAMP:never'])
    expect(event).toMatchObject({ location: 'Room 1', attendees: [] })
  })
})

describe('series', () => {
  const START = 'DTSTART;TZID=Europe/Berlin:20261201T090000'
  const master = (...lines: string[]) =>
    eventText('one', [START, 'DURATION:PT1H', 'SUMMARY:All', 'RRULE:FREQ=DAILY;COUNT=9', ...lines])
  const override = (id: string, ...lines: string[]) =>
    eventText('one', [id, 'DTSTART;TZID=Europe/Berlin:20261203T100000', 'SUMMARY:Other', ...lines])

  test('have their rule as written, members that differ, and members that were taken', () => {
    const found = read([
      override('RECURRENCE-ID:20261203T080000Z'),
      master(
        'EXDATE:20261204T080000Z,20261205T080000Z',
        'EXDATE;VALUE=DATE:20261206',
        'RDATE;TZID=Europe/Berlin:20261224T180000',
      ),
      override('RECURRENCE-ID;TZID=Europe/Berlin:20261207T090000', 'STATUS:CANCELLED'),
      override('RECURRENCE-ID;VALUE=DATE:20261208', 'SUMMARY:By its day'),
    ])!
    expect(found).toMatchObject({
      uid: 'one',
      event: { subject: 'All' },
      recurrence: ['RRULE:FREQ=DAILY;COUNT=9', 'RDATE;TZID=Europe/Berlin:20261224T180000'],
    })
    expect(found.members.exceptions.map(({ member, key }) => [member, key])).toEqual([
      ['20261203T090000', null],
      ['20261208T090000', null],
    ])
    expect(found.members.taken.toSorted()).toEqual([
      '20261204T090000',
      '20261205T090000',
      '20261206',
      '20261207T090000',
    ])
  })

  test('that lack here leave their exceptions', () => {
    const found = read([override('RECURRENCE-ID;TZID=Europe/Berlin:20261203T090000')])!
    expect(found).toMatchObject({ event: null, recurrence: [] })
    expect(found.members.exceptions).toMatchObject([
      { member: '20261203T090000', event: { subject: 'Other' } },
    ])
  })

  test('that lack here leave an exception that was cancelled', () => {
    const id = 'RECURRENCE-ID;TZID=Europe/Berlin:20261203T090000'
    const found = read([override(id, 'STATUS:CANCELLED')])!
    expect(found.members).toMatchObject({ taken: [], exceptions: [{ event: { status: 'cancelled' } }] })
  })

  test('take the later revision of two overrides', () => {
    const id = 'RECURRENCE-ID;TZID=Europe/Berlin:20261203T090000'
    const found = read([
      master(),
      override(id, 'LOCATION:New', 'SEQUENCE:2'),
      override(id, 'LOCATION:Old', 'SEQUENCE:1'),
    ])!
    expect(found.members.exceptions.map(({ event }) => event.location)).toEqual(['New'])
  })

  test('lose an override without a start, and nothing else', () => {
    const broken = eventText('one', ['RECURRENCE-ID;TZID=Europe/Berlin:20261203T090000', 'DTSTART:never'])
    expect(read([master(), broken])!.members).toEqual({ exceptions: [], taken: [] })
  })

  test('with an override for all future members are unreadable', () => {
    const following = override('RECURRENCE-ID;RANGE=THISANDFUTURE;TZID=Europe/Berlin:20261203T090000')
    expect(() => read([master(), following])).toThrow(UnreadableEvents)
  })
})

describe('files', () => {
  test('with several UIDs are read as their first', () => {
    const two = eventText('two', ['DTSTART:20261202T090000Z', 'SUMMARY:Second'])
    expect(read([eventText('one', ['DTSTART:20261201T090000Z', 'SUMMARY:First']), two])).toMatchObject({
      uid: 'one',
      event: { subject: 'First' },
    })
  })

  test('of tasks are no events', () => {
    expect(read([['BEGIN:VTODO', 'UID:x', 'END:VTODO'].join('\r\n')])).toBeNull()
  })

  test.each([
    ['nothing', ''],
    ['no calendar', 'BEGIN:VCARD\r\nEND:VCARD\r\n'],
    ['no start', calendarFile([eventText('one', ['SUMMARY:x'])])],
    ['an impossible start', calendarFile([eventText('one', ['DTSTART:20260230T090000Z'])])],
    [
      'more than 5 MB',
      calendarFile([eventText('one', ['DTSTART:20261201T090000Z', `SUMMARY:${'x'.repeat(6e6)}`])]),
    ],
    ['10,001 components', calendarFile(Array.from({ length: 10_001 }, () => 'BEGIN:VEVENT\r\nEND:VEVENT'))],
    ['components in each other', calendarFile([`${'BEGIN:VTIMEZONE\r\n'.repeat(50)}`])],
    [
      'too many zones',
      calendarFile(
        Array.from({ length: 102 }, (_, n) =>
          eventText('one', [`DTSTART;TZID=Zone ${n}:20261201T090000`, 'RECURRENCE-ID:20261201T090000Z']),
        ),
      ),
    ],
    [
      'too many deleted members, though they are one',
      calendarFile([
        eventText('one', [
          'DTSTART:20261201T090000Z',
          'RRULE:FREQ=DAILY',
          `EXDATE:${Array.from({ length: 10_001 }, () => '20261202T090000Z').join(',')}`,
        ]),
      ]),
    ],
    [
      'too many lines of recurrence',
      calendarFile([
        eventText('one', [
          'DTSTART:20261201T090000Z',
          ...Array.from({ length: 1_001 }, () => 'RDATE:20261202T090000Z'),
        ]),
      ]),
    ],
  ])('with %s are unreadable', (_, file) => {
    expect(() => readEvents(Buffer.from(file), () => null)).toThrow(UnreadableEvents)
  })
})
