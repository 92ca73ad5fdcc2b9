import fc from 'fast-check'
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
import { ODD_FILES } from '../../../../test/calendars/odd/kinds.ts'
import { PRODUCERS } from '../../../../test/calendars/odd/producers.ts'
import { expand } from '../../../kit/recurrence/expand.ts'
import type { RemoteEvent } from '../../calendars.ts'
import type { EventChange } from '../../changing-calendars.ts'

const ALARM = [
  'BEGIN',
  'END',
  'ACTION',
  'TRIGGER',
  'DESCRIPTION',
  'X-WR-ALARMUID',
  'UID',
  'ATTACH',
  'ACKNOWLEDGED',
  'ATTENDEE',
  'SUMMARY',
  'X-APPLE-DEFAULT-ALARM',
  'X-EVOLUTION-ALARM-UID',
  'X-KDE-KCALCORE-ENABLED',
]
const PLACE = ['LOCATION', 'X-APPLE-STRUCTURED-LOCATION']
const BODY = ['DESCRIPTION', 'X-ALT-DESC']
const MEETING = ['CONFERENCE', 'X-GOOGLE-CONFERENCE', 'X-MICROSOFT-SKYPETEAMSMEETINGURL']

/** Changes, and the lines that they may touch besides the stamps. */
const CHANGES: ReadonlyArray<readonly [EventChange, readonly string[]]> = [
  [{ subject: 'Renamed; "so, so"' }, ['SUMMARY']],
  [{ subject: null }, ['SUMMARY']],
  [{ location: 'Room 7' }, PLACE],
  [{ location: null }, PLACE],
  [{ body: { contentType: 'text', content: 'One\nTwo' } }, BODY],
  [{ body: { contentType: 'html', content: '<p>One</p>' } }, BODY],
  [{ body: null }, BODY],
  [{ showAs: 'free' }, ['TRANSP', 'X-MICROSOFT-CDO-BUSYSTATUS']],
  [{ showAs: 'oof' }, ['TRANSP', 'X-MICROSOFT-CDO-BUSYSTATUS']],
  [{ showAs: 'working_elsewhere' }, ['TRANSP', 'X-MICROSOFT-CDO-BUSYSTATUS']],
  [{ sensitivity: 'confidential' }, ['CLASS']],
  [{ sensitivity: 'normal' }, ['CLASS']],
  [{ reminderMinutes: 45 }, ALARM],
  [{ reminderMinutes: null }, ALARM],
  [{ onlineMeetingUrl: 'https://zoom.us/j/123' }, [...MEETING, ...BODY, ...PLACE]],
]

/** Each file with a third of the changes, so that each change is made to files of each program. */
const FILES = [...ODD_FILES, ...Object.entries(PRODUCERS)].map(
  ([name, bytes], nth) => [name, bytes, CHANGES.filter((_, at) => (at + nth) % 3 === 0)] as const,
)

/** The lines that a file after a change differs in are those of its fields. */
function expectOnly(before: Buffer, after: Buffer, names: readonly string[]): void {
  const others = [...changedNames(before, after)].filter(name => !names.includes(name))
  expect(others).toEqual([])
}

/** The members of a series within a year that are not taken. */
function membersOf(bytes: Buffer): string[] {
  const { event, recurrence, members } = read(bytes)
  const isOfDay = !event!.start.wall.includes('T')
  const range = isOfDay ? ['20261101', '20271101'] : ['20261101T000000', '20271101T000000']
  const given = expand({ start: event!.start, lines: recurrence ?? [], from: range[0]!, to: range[1]! })
  return given.members.map(({ wall }) => wall).filter(wall => !members.taken.includes(wall))
}

describe.each(FILES)('%s', (_, bytes, some) => {
  test('differs only in the lines of a change', () => {
    const before = read(bytes)
    const { updatedAt: __, onlineMeetingUrl: ___, onlineMeetingProvider: ____, ...kept } = before.event!
    for (const [change, names] of some) {
      const after = changeAll(bytes, change)
      expectOnly(bytes, after, [...STAMPS, ...names])
      const found = read(after)
      // A body that has the link of a meeting has one more line.
      const hasLink = change.onlineMeetingUrl ?? (change.body && before.event!.onlineMeetingUrl)
      const body = hasLink && (change.body ?? kept.body) ? { body: expect.anything() } : {}
      const location =
        change.onlineMeetingUrl && kept.location === null ? { location: change.onlineMeetingUrl } : {}
      expect(found.event).toMatchObject({ ...kept, ...change, ...body, ...location } as RemoteEvent)
      expect(found.recurrence).toEqual(before.recurrence)
      expect(found.members.taken).toEqual(before.members.taken)
      expect(found.members.exceptions.map(one => one.member)).toEqual(
        before.members.exceptions.map(one => one.member),
      )
    }
  })

  test('stays byte for byte if nothing changes', () => {
    const { subject, location, body, showAs, reminderMinutes, start, end } = read(bytes).event!
    const same = { subject, location, body, showAs: showAs as 'busy', reminderMinutes, start, end }
    expect(changeAll(bytes, same).equals(bytes)).toBe(true)
  })

  test('moves, and back, with all its members', () => {
    const { event, members, recurrence } = read(bytes)
    const isOfDay = !event!.start.wall.includes('T')
    const later = { wall: isOfDay ? '20261202' : '20261202T100000', zone: event!.start.zone }
    const names = [...REVISION, 'DTSTART', 'DTEND', 'DURATION', 'RECURRENCE-ID', 'EXDATE', 'RDATE', 'RRULE']
    const moved = changeAll(bytes, { start: later })
    expectOnly(bytes, moved, names)
    expect(read(moved).event!.start).toEqual(later)
    const back = read(changeAll(moved, { start: event!.start }))
    expect(back.event).toMatchObject({ start: event!.start, end: event!.end })
    expect(back.members.taken.toSorted()).toEqual(members.taken.toSorted())
    expect(back.members.exceptions.map(one => one.member)).toEqual(members.exceptions.map(one => one.member))
    expect(back.recurrence?.length).toBe(recurrence?.length)
  })

  test('has its other lines after a change or the end of one member', () => {
    const all = membersOf(bytes)
    const last = all.at(-1)!
    if (all.length < 2) return
    const changed = edit(bytes, { type: 'change', part: member(last), change: { subject: 'Once' } })
    const found = read(changed).members.exceptions.find(one => one.member === last)
    expect(found?.event).toMatchObject({ subject: 'Once', location: read(bytes).event!.location })
    // The lines that are new are behind all others of the series.
    const at = changed.toString('latin1').search(/end:vcalendar/i)
    const before = bytes.toString('latin1').search(/end:vevent\r?\n(?![\s\S]*end:vevent)/i)
    expect(changed.subarray(0, before).equals(bytes.subarray(0, before))).toBe(true)
    expect(at).toBeGreaterThan(before)
    const removed = edit(bytes, { type: 'remove', part: member(last) })
    expectOnly(bytes, removed, [...REVISION, 'EXDATE'])
    expect(membersOf(removed)).toEqual(all.slice(0, -1))
  })
})

const changes = fc.record(
  {
    subject: fc.option(fc.string({ unit: 'grapheme', maxLength: 60 }).filter(isText), { nil: null }),
    location: fc.constantFrom(null, 'Room\\;7', 'x'.repeat(200)),
    body: fc.constantFrom(
      null,
      { contentType: 'text', content: 'a\n\n"b",\\n' },
      { contentType: 'html', content: '<i>x</i>' },
    ),
    showAs: fc.constantFrom('free', 'busy', 'oof', 'tentative', 'working_elsewhere'),
    sensitivity: fc.constantFrom('normal', 'private', 'confidential'),
    reminderMinutes: fc.constantFrom(null, 0, 5, 40_320),
  },
  { requiredKeys: [] },
)

function isText(text: string): boolean {
  return text.isWellFormed() && !/[\p{Cc}\u2028\u2029]/u.test(text) && text.trim() === text && text !== ''
}

test('any changes one after the other leave the last of each field, and all other lines', () => {
  const names = [...STAMPS, ...CHANGES.flatMap(([, touched]) => touched)]
  fc.assert(
    fc.property(fc.constantFrom(...FILES), fc.array(changes, { maxLength: 4 }), ([, bytes], given) => {
      const { event } = read(bytes)
      // A body of an event with a meeting gets a line more.
      const kept = event!.onlineMeetingUrl === null ? {} : { body: event!.body }
      const all = given.map(change => ({ ...(change as EventChange), ...kept }))
      const after = all.reduce((file, change) => changeAll(file, change), bytes)
      expectOnly(bytes, after, names)
      expect(read(after).event).toMatchObject(Object.assign({}, ...all) as object)
    }),
    { numRuns: 60 },
  )
})
