import { afterAll, expect, test } from 'vitest'
import { member, OPTIONS } from '../../../../test/calendars/odd/edit-file.ts'
import { calendarFile, eventText } from '../../../../test/servers/event-text.ts'
import { openFileThread } from '../file-thread.ts'
import type { EventEdit } from './event-edit.ts'
import { UnreadableEvents } from './event-file.ts'
import { MissingMember, UnheldChange, UnwritableEvents } from './unwritable.ts'

/* Files that mean harm are changed within the time that the thread has, or refused. */

const files = openFileThread()
afterAll(() => files[Symbol.asyncDispose]())
const zones = {
  timeZone: 'Europe/Berlin',
  window: { start: new Date('2026-09-01T00:00:00Z'), end: new Date('2027-11-29T00:00:00Z') },
}
const REFUSALS = [UnreadableEvents, UnwritableEvents, UnheldChange, MissingMember]

const START = 'DTSTART:20261201T090000Z'
const many = (count: number, line: (nth: number) => string): string[] =>
  Array.from({ length: count }, (_, nth) => line(nth))
const series = (rule: string, ...lines: string[]) =>
  calendarFile([eventText('one', [START, 'DURATION:PT1H', `RRULE:${rule}`, ...lines])])
const wallOf = (nth: number) =>
  new Date(Date.UTC(2026, 11, 1 + nth, 9)).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')
const zoneOf = (lines: readonly string[]) =>
  ['BEGIN:VTIMEZONE', 'TZID:Odd', ...lines, 'END:VTIMEZONE'].join('\r\n')
const observance = (nth: number, rule = '') =>
  [
    'BEGIN:STANDARD',
    `DTSTART:${wallOf(nth)}`,
    'TZOFFSETFROM:+0123',
    `TZOFFSETTO:+0${nth % 10}11`,
    ...(rule === '' ? [] : [`RRULE:${rule}`]),
    'END:STANDARD',
  ].join('\r\n')
const inOdd = (zone: string) =>
  calendarFile([zone, eventText('one', ['DTSTART;TZID=Odd:20261201T090000', 'RRULE:FREQ=DAILY'])])

const FILES: ReadonlyArray<readonly [string, string]> = [
  ['a member every second', series('FREQ=SECONDLY')],
  ['a member every second, counted', series('FREQ=SECONDLY;COUNT=100000000')],
  ['a rule that gives nothing', series('FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30')],
  ['a rule that searches long', series('FREQ=SECONDLY;BYYEARDAY=366;BYHOUR=23;BYSETPOS=-366')],
  ['a thousand rules', series('FREQ=DAILY', ...many(900, () => 'RRULE:FREQ=MINUTELY;BYSECOND=59'))],
  [
    '30,000 people',
    series('FREQ=DAILY', ...many(30_000, nth => `ATTENDEE:mailto:somebody.${nth}@example.com`)),
  ],
  [
    '9,900 exceptions',
    calendarFile([
      eventText('one', [START, 'RRULE:FREQ=DAILY']),
      ...many(9_900, nth => eventText('one', [`RECURRENCE-ID:${wallOf(nth)}Z`, `DTSTART:${wallOf(nth)}Z`])),
    ]),
  ],
  [
    '9,900 alarms that repeat',
    series(
      'FREQ=DAILY',
      ...many(9_900, () =>
        [
          'BEGIN:VALARM',
          'ACTION:DISPLAY',
          'TRIGGER:-PT1M',
          'REPEAT:1000000',
          'DURATION:PT1S',
          'END:VALARM',
        ].join('\r\n'),
      ),
    ),
  ],
  [
    'a long list of taken members',
    series('FREQ=DAILY', `EXDATE:${many(9_999, nth => `${wallOf(nth * 7)}Z`).join(',')}`),
  ],
  ['a zone of 9,900 observances', inOdd(zoneOf(many(9_900, nth => observance(nth))))],
  ['a zone that changes each second', inOdd(zoneOf([observance(0, 'FREQ=SECONDLY')]))],
  ['zones within zones', inOdd('BEGIN:VTIMEZONE\r\nTZID:Odd\r\n'.repeat(9))],
  [
    '99 zones that nobody knows',
    series('FREQ=DAILY', ...many(99, nth => `EXDATE;TZID=Nowhere ${nth}:${wallOf(nth)}`)),
  ],
  ['a long text of escapes', series('FREQ=DAILY', `DESCRIPTION:${'\\n\\,'.repeat(500_000)}`)],
]

const LARGE = 500_000
const SECOND = '20261202T090000'
const EDITS: readonly EventEdit[] = [
  {
    type: 'change',
    part: { type: 'all', timesOf: null },
    change: { subject: 'Renamed', reminderMinutes: 5 },
  },
  {
    type: 'change',
    part: { type: 'all', timesOf: null },
    change: { start: { wall: '20261201T100000', zone: 'Europe/Berlin' } },
  },
  { type: 'change', part: { type: 'all', timesOf: null }, change: { recurrence: null } },
  { type: 'change', part: member(SECOND), change: { location: 'Elsewhere' } },
  { type: 'remove', part: member(SECOND) },
  { type: 'truncate', member: SECOND },
  { type: 'rest', member: SECOND, uid: 'two', change: {} },
  { type: 'respond', part: { type: 'all' }, response: { response: 'accepted', comment: null } },
]

test.each(FILES)('%s', async (_, file) => {
  // A large file gets only two edits, a change and a split: the others take as long.
  const edits = file.length < LARGE ? EDITS : [EDITS[0]!, EDITS[6]!]
  for (const edit of edits) {
    const asked = { edit, options: OPTIONS, zones }
    const outcome = await files.editEvents('party', Buffer.from(file), asked).catch((error: unknown) => error)
    if (outcome instanceof Error) {
      expect(REFUSALS.some(refusal => outcome instanceof refusal)).toBe(true)
      expect(outcome.message).not.toContain('too much time')
    } else expect(outcome).toBeInstanceOf(Buffer)
  }
})
