import { describe, expect, test } from 'vitest'
import {
  changeAll,
  changedNames,
  edit,
  member,
  read,
  REVISION,
  STAMPS,
} from '../../../../test/calendars/odd/edit-file.ts'
import { PRODUCERS } from '../../../../test/calendars/odd/producers.ts'
import { calendarFile, eventText } from '../../../../test/servers/event-text.ts'

const START = 'DTSTART;TZID=Europe/Berlin:20261201T090000'
const LENGTH = 'DURATION:PT1H'

/** A weekly series from 1 December 2026, 9 o'clock. */
const weekly = (lines: readonly string[] = [], others: readonly string[] = []) =>
  Buffer.from(
    calendarFile([
      eventText('series', [
        START,
        LENGTH,
        'RRULE:FREQ=WEEKLY;COUNT=6',
        'SUMMARY:Weekly',
        'SEQUENCE:3',
        ...lines,
      ]),
      ...others,
    ]),
  )
const exception = (id: string, start: string, ...lines: string[]) =>
  eventText('series', [
    `RECURRENCE-ID;TZID=Europe/Berlin:${id}`,
    `DTSTART;TZID=Europe/Berlin:${start}`,
    LENGTH,
    'SUMMARY:Once',
    ...lines,
  ])

describe('a member of a series', () => {
  test('becomes an exception with the lines of its series', () => {
    const after = edit(PRODUCERS.APPLE, {
      type: 'change',
      part: member('20261215T090000'),
      change: { subject: 'Once' },
    })
    const text = after.toString()
    expect(read(after).members.exceptions).toMatchObject([
      { member: '20261222T090000' },
      { member: '20261215T090000', event: { subject: 'Once', reminderMinutes: 15 } },
    ])
    const added = text.slice(text.lastIndexOf('BEGIN:VEVENT'))
    expect(added).toContain('\r\nRECURRENCE-ID;TZID=Europe/Berlin:20261215T090000\r\n')
    expect(added).toContain('X-APPLE-STRUCTURED-LOCATION')
    expect(added).not.toMatch(/RRULE|EXDATE/)
    expect(text.slice(0, text.lastIndexOf('BEGIN:VEVENT'))).toBe(
      PRODUCERS.APPLE.toString().slice(0, -'END:VCALENDAR\r\n'.length),
    )
  })

  test('is taken, with its exception', () => {
    const after = edit(PRODUCERS.APPLE, { type: 'remove', part: member('20261222T090000') })
    expect(read(after).members).toMatchObject({
      exceptions: [],
      taken: ['20261208T090000', '20261222T090000'],
    })
    expect(after.toString()).toContain(
      'EXDATE;TZID=Europe/Berlin:20261208T090000\r\nEXDATE;TZID=Europe/Berlin:20261222',
    )
  })

  test('keeps the TZID of its series', () => {
    const after = edit(PRODUCERS.OUTLOOK, { type: 'remove', part: member('20270105T110000') })
    expect(after.toString()).toContain('EXDATE;TZID="W. Europe Standard Time":20270105T110000')
    expect(changedNames(PRODUCERS.OUTLOOK, after)).toEqual(new Set([...REVISION, 'EXDATE']))
  })

  test.each(['20261208T090000', '20261216T090000', '20281222T090000'])(
    'is refused if it is none: %s',
    wall => {
      const change = { type: 'change', part: member(wall), change: { subject: 'No' } } as const
      expect(() => edit(PRODUCERS.APPLE, change)).toThrow('no longer has this occurrence')
      expect(() => edit(PRODUCERS.APPLE, { type: 'remove', part: member(wall) })).toThrow('no longer has')
    },
  )
})

describe('a series of somebody else', () => {
  const INVITED = ['ORGANIZER:mailto:boss@example.org', 'ATTENDEE;PARTSTAT=ACCEPTED:mailto:ada@example.com']
  const endless = (bytes: Buffer) => Buffer.from(bytes.toString().replace(';COUNT=6', ''))

  test('loses a member without a new revision', () => {
    const after = edit(weekly(INVITED), { type: 'remove', part: member('20261208T090000') })
    expect(read(after).members.taken).toEqual(['20261208T090000'])
    expect([...changedNames(weekly(INVITED), after)].filter(name => !STAMPS.includes(name))).toEqual([
      'EXDATE',
    ])
  })

  test('loses the members from one on, and keeps its rule', () => {
    const given = weekly(INVITED, [exception('20261222T090000', '20261222T110000', ...INVITED)])
    const after = edit(given, { type: 'truncate', member: '20261215T090000' })
    expect(read(after)).toMatchObject({
      recurrence: ['RRULE:FREQ=WEEKLY;COUNT=6'],
      members: {
        exceptions: [],
        taken: ['15', '22', '29'].map(day => `202612${day}T090000`).concat('20270105T090000'),
      },
    })
    expect(after.toString()).toContain('SEQUENCE:3\r\n')
  })

  test('is not ended before a member if too many are left, and not split', () => {
    const truncate = { type: 'truncate', member: '20261215T090000' } as const
    expect(() => edit(endless(weekly(INVITED)), truncate)).toThrow('organizes this series')
    const rest = { type: 'rest', member: '20261215T090000', uid: 'new', change: {} } as const
    expect(() => edit(weekly(INVITED), rest)).toThrow('organizes this series')
  })

  test('keeps its revision where the account changes what is its own', () => {
    const after = changeAll(weekly(INVITED), { reminderMinutes: 5 })
    expect(after.toString()).toContain('SEQUENCE:3\r\n')
    // An organizer without an address is not known to be somebody else.
    const own = edit(weekly(['ORGANIZER:invalid:nomail']), {
      type: 'remove',
      part: member('20261208T090000'),
    })
    expect(own.toString()).toContain('SEQUENCE:4\r\n')
  })
})

describe('a series that becomes one event', () => {
  const TAKEN = 'EXDATE;TZID=Europe/Berlin:20261201T090000'

  test('is its first occurrence that was not taken', () => {
    const after = changeAll(weekly([TAKEN]), { recurrence: null })
    expect(read(after)).toMatchObject({
      event: { start: { wall: '20261208T090000' }, end: { wall: '20261208T100000' }, subject: 'Weekly' },
      recurrence: null,
    })
    expect(after.toString()).not.toMatch(/EXDATE|RRULE:FREQ=WEEKLY/)
    expect(after.toString()).toContain('SEQUENCE:4\r\n')
  })

  test('has the times and the fields of an exception that is its first occurrence', () => {
    const given = weekly(
      [TAKEN],
      [
        exception('20261208T090000', '20261209T140000', 'LOCATION:Elsewhere', 'X-OWN:1'),
        exception('20261222T090000', '20261222T110000'),
      ],
    )
    const after = changeAll(given, { recurrence: null, location: 'Room 7' })
    expect(read(after)).toMatchObject({
      uid: 'series',
      event: { start: { wall: '20261209T140000' }, subject: 'Once', location: 'Room 7' },
      recurrence: null,
      members: { exceptions: [] },
    })
    expect(after.toString()).toContain('X-OWN:1')
    expect(after.toString()).not.toMatch(/RECURRENCE-ID|RRULE:FREQ=WEEKLY/)
    expect(after.toString()).toContain('SEQUENCE:4\r\n')
  })

  test('moves by the difference that a change makes to a member', () => {
    const change = { recurrence: null, start: { wall: '20261216T100000', zone: 'Europe/Berlin' } } as const
    const after = changeAll(weekly([TAKEN]), change, '20261215T090000')
    expect(read(after).event).toMatchObject({
      start: { wall: '20261209T100000' },
      end: { wall: '20261209T110000' },
    })
    expect(() => changeAll(weekly([TAKEN]), change, '20261214T090000')).toThrow('no longer has')
    const moved = weekly([TAKEN], [exception('20261208T090000', '20261209T140000')])
    expect(read(changeAll(moved, change, '20261208T090000')).event!.start.wall).toBe('20261216T100000')
  })

  test('keeps its start if no occurrence is left', () => {
    const all = ['01', '08', '15', '22', '29'].map(day => `202612${day}T090000`).concat('20270105T090000')
    const after = changeAll(weekly([`EXDATE;TZID=Europe/Berlin:${all.join(',')}`]), { recurrence: null })
    expect(read(after).event!.start.wall).toBe('20261201T090000')
  })
})

describe('a split series', () => {
  test('has each line in one of both files', () => {
    const split = { member: '20261215T090000' }
    const rest = edit(PRODUCERS.APPLE, { type: 'rest', ...split, uid: 'new', change: { subject: 'Second' } })
    const before = edit(PRODUCERS.APPLE, { type: 'truncate', ...split })
    expect(read(before)).toMatchObject({
      uid: '5A1B6C33-0D6E-4F10-8F0C-1E2D3C4B5A69',
      recurrence: ['RRULE:FREQ=WEEKLY;UNTIL=20261208T080000Z'],
      members: { exceptions: [], taken: ['20261208T090000'] },
    })
    expect(read(rest)).toMatchObject({
      uid: 'new',
      event: {
        start: { wall: '20261215T090000' },
        subject: 'Second',
        location: read(before).event!.location,
      },
      recurrence: ['RRULE:FREQ=WEEKLY;COUNT=6'],
      members: {
        exceptions: [{ member: '20261222T090000', event: { subject: 'Jour fixe mit Gebäck' } }],
        taken: [],
      },
    })
  })

  test('leaves what has another UID, or names no member, in the first file', () => {
    const odd = weekly(
      [],
      [
        eventText('other', [START, LENGTH, 'SUMMARY:Other']),
        eventText('series', ['RECURRENCE-ID:never', START, LENGTH, 'SUMMARY:Lost']),
        ['BEGIN:VTODO', 'UID:task', 'END:VTODO'].join('\r\n'),
        ['BEGIN:X-NOTE', 'X-TEXT:kept', 'END:X-NOTE'].join('\r\n'),
      ],
    )
    const split = { member: '20261215T090000' }
    const rest = edit(odd, { type: 'rest', ...split, uid: 'new', change: {} }).toString()
    expect(rest.match(/^UID:.*$/gm)).toEqual(['UID:new'])
    expect(rest).toContain('X-TEXT:kept')
    const before = edit(odd, { type: 'truncate', ...split }).toString()
    expect(before.match(/^UID:.*$/gm)).toEqual(['UID:series', 'UID:other', 'UID:series', 'UID:task'])
  })
})
