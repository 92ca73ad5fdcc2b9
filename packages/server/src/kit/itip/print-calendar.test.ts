import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readEvents } from '../../providers/dav/events/read-events.ts'
import { doAtOnce } from '../sliced-work.ts'
import { nameOwnZone } from '../zones/own-zone.ts'
import { zoneOfTzid } from '../zones/zone-of-tzid.ts'
import type { ItipComponent } from './component.ts'
import { printCalendarSteps } from './print-calendar.ts'

const WINDOW = { start: new Date('2026-01-01'), end: new Date('2028-01-01') }

const EVENT: ItipComponent = {
  uid: 'lunch@example.com',
  recurrenceId: null,
  sequence: 2,
  stamp: new Date('2026-11-29T18:00:00Z'),
  start: { wall: '20261130T120000', zone: 'Europe/Berlin' },
  end: { wall: '20261130T130000', zone: 'Europe/Berlin' },
  recurrence: [],
  excluded: [],
  organizer: { name: 'Ada', address: 'ada@example.com' },
  attendees: [{ name: 'Bob', address: 'bob@example.com', type: 'required', response: 'needs_action' }],
  subject: 'Lunch',
  location: 'Café',
  body: { contentType: 'text', content: 'With soup' },
  meetingUrl: null,
  status: 'confirmed',
  isPrivate: false,
  comment: null,
}

const print = (...components: ItipComponent[]) => doAtOnce(printCalendarSteps('REQUEST', components))
const read = (calendar: string) =>
  readEvents(
    Buffer.from(calendar),
    (tzid, definition) => zoneOfTzid({ tzid, definition, preferred: null, window: WINDOW }).zone,
  )!

test('prints a request with its zone', () => {
  expect(
    print(EVENT)
      .split('\r\n')
      .filter(line => !/^(?:TZOFFSET|RRULE|DTSTART:)/.test(line)),
  ).toEqual([
    'BEGIN:VCALENDAR',
    'PRODID:-//Waxwing//Calendar//EN',
    'VERSION:2.0',
    'CALSCALE:GREGORIAN',
    'METHOD:REQUEST',
    'BEGIN:VTIMEZONE',
    'TZID:Europe/Berlin',
    'BEGIN:STANDARD',
    'END:STANDARD',
    'BEGIN:DAYLIGHT',
    'END:DAYLIGHT',
    'END:VTIMEZONE',
    'BEGIN:VEVENT',
    'UID:lunch@example.com',
    'DTSTAMP:20261129T180000Z',
    'DTSTART;TZID=Europe/Berlin:20261130T120000',
    'DTEND;TZID=Europe/Berlin:20261130T130000',
    'SEQUENCE:2',
    'STATUS:CONFIRMED',
    'SUMMARY:Lunch',
    'LOCATION:Café',
    'DESCRIPTION:With soup',
    'ORGANIZER;CN=Ada:mailto:ada@example.com',
    'ATTENDEE;CN=Bob;CUTYPE=INDIVIDUAL;ROLE=REQ-PARTICIPANT;PARTSTAT=NEEDS-ACTIO',
    ' N;RSVP=TRUE:mailto:bob@example.com',
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ])
})

test('prints a series with its exceptions and lacking members', () => {
  const series = {
    ...EVENT,
    recurrence: ['RRULE:FREQ=WEEKLY;COUNT=5', 'RDATE;TZID=America/New_York:20261201T060000'],
    excluded: ['20261207T120000'],
  }
  const moved = {
    ...EVENT,
    recurrenceId: { wall: '20261214T120000', zone: 'Europe/Berlin' },
    start: { wall: '20261214T090000', zone: 'UTC' },
    end: { wall: '20261214T100000', zone: 'UTC' },
  }
  const found = read(print(series, moved))
  expect(found.recurrence).toEqual(['RRULE:FREQ=WEEKLY;COUNT=5', 'RDATE;TZID=Europe/Berlin:20261201T120000'])
  expect(found.members.taken).toEqual(['20261207T120000'])
  expect(found.members.exceptions.map(({ member, event }) => [member, event.start])).toEqual([
    ['20261214T120000', { wall: '20261214T090000', zone: 'UTC' }],
  ])
})

test('defines a zone that has no name', () => {
  const zone = nameOwnZone({ at: [], offsets: [16_200_000] })!
  const times = { start: { wall: '20261130T120000', zone }, end: { wall: '20261130T130000', zone } }
  const calendar = print({ ...EVENT, ...times })
  expect(calendar).toContain('TZID:Zone 1')
  expect(calendar).toContain('DTSTART;TZID="Zone 1":20261130T120000')
  // Asia/Kabul has this offset.
  expect(read(calendar).event!.start.zone).toBe('Asia/Kabul')
})

describe('any event', () => {
  const text = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 })
  const wall = fc
    .date({ min: new Date('2026-01-01'), max: new Date('2027-12-30'), noInvalidDate: true })
    .map(date => `${date.toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}`)
  const zone = fc.constantFrom('Europe/Berlin', 'UTC', 'Asia/Kolkata', 'Pacific/Apia')
  const event = fc.record({ subject: text, location: text, body: text, name: text, start: wall, zone })

  test('is read as it was printed, whatever its texts have', () => {
    fc.assert(
      fc.property(event, ({ subject, location, body, name, start, zone: at }) => {
        const time = { wall: start, zone: at }
        const attendee = { ...EVENT.attendees[0]!, name }
        const calendar = print({
          ...EVENT,
          subject,
          location,
          body: { contentType: 'text', content: body },
          start: time,
          end: time,
          attendees: [attendee],
        })
        expect(calendar.split('\r\n').every(line => Buffer.byteLength(line) <= 75 || !/\S/.test(line))).toBe(
          true,
        )
        expect(calendar.match(/^(?:BEGIN|END):V(?:EVENT|CALENDAR)$/gm)).toHaveLength(4)
        const found = read(calendar).event!
        expect(found.start).toEqual(time)
        expect(found.attendees.map(({ address }) => address)).toEqual(['bob@example.com'])
        const plain = (value: string | null) => (value ?? '').replaceAll(/[^\p{L}\p{N}]/gu, '')
        expect(plain(found.subject)).toBe(plain(subject.toWellFormed()))
        expect(plain(found.location)).toBe(plain(location.toWellFormed()))
        expect(plain(found.body?.content ?? null)).toBe(plain(body.toWellFormed()))
      }),
      { numRuns: 100 },
    )
  })
})
