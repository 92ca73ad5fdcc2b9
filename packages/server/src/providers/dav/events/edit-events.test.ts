import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { PRODUCERS } from '../../../../test/calendars/odd/producers.ts'
import { splitFile } from '../../../kit/content-lines/content-file.ts'
import { findNamedZone } from '../../../kit/zones/named-zone.ts'
import type { RemoteEvent } from '../../calendars.ts'
import type { EventChange } from '../../changing-calendars.ts'
import { editEvents, type EditOptions, type EventEdit } from './edit-events.ts'
import { readEvents } from './read-events.ts'

const SELF = { name: 'Ada', address: 'ada@example.com' }
const OPTIONS: EditOptions = {
  self: SELF,
  own: new Set([SELF.address]),
  agent: null,
  now: new Date('2026-11-29T12:00:00Z'),
}
const resolve = (tzid: string) => findNamedZone(tzid)
const read = (bytes: Buffer) => readEvents(bytes, resolve)!
const edit = (bytes: Buffer, asked: EventEdit, options: Partial<EditOptions> = {}) =>
  editEvents(bytes, asked, { ...OPTIONS, ...options }, resolve)!
const changeAll = (bytes: Buffer, change: EventChange, timesOf: string | null = null) =>
  edit(bytes, {
    type: 'change',
    part: { type: 'all', timesOf: timesOf === null ? null : { member: timesOf, memberKey: null } },
    change,
  })
const member = (wall: string) => ({ type: 'member', member: wall, memberKey: null }) as const

/** The lines of a file with their bytes, folds included. */
function linesOf(bytes: Buffer): Array<{ name: string; bytes: string }> {
  return splitFile(bytes).lines.map(({ content, start, end }) => ({
    name: content?.name ?? '',
    bytes: bytes.subarray(start, end).toString('latin1'),
  }))
}

/** Names of the lines that differ between two files. All others must be the same bytes in the same order. */
function changedNames(before: Buffer, after: Buffer): Set<string> {
  const [old, next] = [linesOf(before), linesOf(after)]
  // The longest common subsequence.
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(next.length + 1))
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = next.length - 1; j >= 0; j--)
      lengths[i]![j] =
        old[i]!.bytes === next[j]!.bytes
          ? lengths[i + 1]![j + 1]! + 1
          : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!)
  const names = new Set<string>()
  let [i, j] = [0, 0]
  while (i < old.length || j < next.length) {
    if (i < old.length && j < next.length && old[i]!.bytes === next[j]!.bytes) {
      i++
      j++
    } else if (j === next.length || (i < old.length && lengths[i + 1]![j]! >= lengths[i]![j + 1]!))
      names.add(old[i++]!.name)
    else names.add(next[j++]!.name)
  }
  return names
}

const STAMPS = ['DTSTAMP', 'LAST-MODIFIED']
const REVISION = [...STAMPS, 'SEQUENCE']
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
]

/** Changes, and the lines that they may touch besides the stamps. */
const CHANGES: ReadonlyArray<readonly [EventChange, readonly string[]]> = [
  [{ subject: 'Renamed; "so, so"' }, ['SUMMARY']],
  [{ subject: null }, ['SUMMARY']],
  [{ location: 'Room 7' }, ['LOCATION', 'X-APPLE-STRUCTURED-LOCATION']],
  [{ location: null }, ['LOCATION', 'X-APPLE-STRUCTURED-LOCATION']],
  [{ body: { contentType: 'text', content: 'One\nTwo' } }, ['DESCRIPTION', 'X-ALT-DESC']],
  [{ body: { contentType: 'html', content: '<p>One</p>' } }, ['DESCRIPTION', 'X-ALT-DESC']],
  [{ body: null }, ['DESCRIPTION', 'X-ALT-DESC']],
  [{ showAs: 'free' }, ['TRANSP', 'X-MICROSOFT-CDO-BUSYSTATUS']],
  [{ showAs: 'oof' }, ['TRANSP', 'X-MICROSOFT-CDO-BUSYSTATUS']],
  [{ showAs: 'working_elsewhere' }, ['TRANSP', 'X-MICROSOFT-CDO-BUSYSTATUS']],
  [{ sensitivity: 'confidential' }, ['CLASS']],
  [{ sensitivity: 'normal' }, ['CLASS']],
  [{ reminderMinutes: 45 }, ALARM],
  [{ reminderMinutes: null }, ALARM],
  [{ onlineMeetingUrl: 'https://zoom.us/j/123' }, ['CONFERENCE', 'X-GOOGLE-CONFERENCE', 'LOCATION']],
]

const GIVEN = Object.entries(PRODUCERS)

describe.each(GIVEN)('a file of %s', (_, bytes) => {
  test.each(CHANGES)('differs only in the lines of %j', (change, names) => {
    const before = read(bytes)
    const after = changeAll(bytes, change)
    const allowed = new Set([...STAMPS, ...names])
    for (const name of changedNames(bytes, after)) expect(allowed).toContain(name)
    const found = read(after)
    const { updatedAt: __, ...kept } = before.event!
    // A body that has the link of a meeting has one more line.
    const body = change.body && before.event!.onlineMeetingUrl ? { body: expect.anything() } : {}
    const hasLocation = before.event!.location !== null
    const location = change.onlineMeetingUrl && !hasLocation ? { location: change.onlineMeetingUrl } : {}
    const { onlineMeetingUrl: ___, onlineMeetingProvider: ____, ...rest } = kept
    expect(found.event).toMatchObject({ ...rest, ...change, ...body, ...location } as RemoteEvent)
    expect(found.recurrence).toEqual(before.recurrence)
    expect(found.members.taken).toEqual(before.members.taken)
    expect(found.members.exceptions.map(one => one.member)).toEqual(
      before.members.exceptions.map(one => one.member),
    )
  })

  test('is the same after nothing changes but the stamps', () => {
    const { event } = read(bytes)
    const same = changeAll(bytes, {
      subject: event!.subject,
      location: event!.location,
      showAs: event!.showAs as 'busy',
      reminderMinutes: event!.reminderMinutes,
      start: event!.start,
      end: event!.end,
    })
    for (const name of changedNames(bytes, same)) expect(STAMPS).toContain(name)
  })

  test('moves by an hour, and back, with all its members', () => {
    const { event, members, recurrence } = read(bytes)
    const isOfDay = !event!.start.wall.includes('T')
    const later = { wall: isOfDay ? '20261202' : '20261202T100000', zone: event!.start.zone }
    const names = [...REVISION, 'DTSTART', 'DTEND', 'DURATION', 'RECURRENCE-ID', 'EXDATE', 'RDATE', 'RRULE']
    const moved = changeAll(bytes, { start: later })
    for (const name of changedNames(bytes, moved)) expect(names).toContain(name)
    expect(read(moved).event!.start).toEqual(later)
    const back = read(changeAll(moved, { start: event!.start }))
    expect(back.event).toMatchObject({ start: event!.start, end: event!.end })
    expect(back.members.taken.toSorted()).toEqual(members.taken.toSorted())
    expect(back.members.exceptions.map(one => one.member)).toEqual(members.exceptions.map(one => one.member))
    expect(back.recurrence?.length).toBe(recurrence?.length)
  })
})

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

test('a split series has each line in one of both files', () => {
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
    event: { start: { wall: '20261215T090000' }, subject: 'Second', location: read(before).event!.location },
    recurrence: ['RRULE:FREQ=WEEKLY;COUNT=6'],
    members: {
      exceptions: [{ member: '20261222T090000', event: { subject: 'Jour fixe mit Gebäck' } }],
      taken: [],
    },
  })
})

test('people stay as they are, but for those who come and go', () => {
  const [grace, kurt] = [
    { name: null, address: 'GRACE@example.com', type: 'required' },
    { name: 'Kurt; "K", Gödel', address: 'kurt@example.com', type: 'optional' },
  ] as const
  const more = changeAll(PRODUCERS.GOOGLE, { attendees: [grace, kurt] })
  expect(changedNames(PRODUCERS.GOOGLE, more)).toEqual(new Set([...STAMPS, 'ATTENDEE']))
  expect(read(more).event!.attendees).toMatchObject([
    { address: 'ada@example.com', response: 'accepted' },
    { address: 'grace@example.com', response: 'needs_action' },
    { ...kurt, response: 'needs_action' },
  ])
  const fewer = changeAll(more, { attendees: [kurt] })
  expect(read(fewer).event!.attendees.map(({ address }) => address)).toEqual([
    'ada@example.com',
    'kurt@example.com',
  ])
})

test('only people of whom the server has no line yet are kept from its messages', () => {
  const attendees = [{ name: null, address: 'grace@example.com', type: 'required' }] as const
  const fields = {
    start: { wall: '20261201T090000', zone: 'Europe/Berlin' },
    end: { wall: '20261201T100000', zone: 'Europe/Berlin' },
    subject: 'Guests',
    location: null,
    body: null,
    attendees,
    recurrence: null,
    showAs: 'busy',
    sensitivity: 'normal',
    onlineMeeting: false,
    onlineMeetingUrl: null,
  } as const
  const create: EventEdit = { type: 'create', uid: 'one', fields }
  const rename: EventEdit = {
    type: 'change',
    part: { type: 'all', timesOf: null },
    change: { subject: 'Renamed' },
  }
  const noBytes = Buffer.alloc(0)
  const quiet = edit(noBytes, create, { agent: 'client' })
  expect(quiet.toString()).toContain('SCHEDULE-AGENT=CLIENT')
  expect(edit(quiet, rename, { agent: 'client' }).toString()).toContain('SCHEDULE-AGENT=CLIENT')
  expect(edit(quiet, rename).toString()).toContain('SCHEDULE-AGENT=CLIENT')
  const served = edit(quiet, rename, { agent: 'server' })
  expect(served.toString()).not.toContain('SCHEDULE-AGENT')
  for (const asked of [rename, { type: 'silence' } as const])
    expect(() => edit(served, asked, { agent: 'client' })).toThrow('informs people')
  const guest = { own: new Set(['grace@example.com']), agent: 'client' } as const
  expect(edit(served, { type: 'silence' }, guest)).toEqual(served)
})

test('tabs and separators of lines are held in texts', () => {
  const content = 'a\tb\u2028c\u2029d'
  const text = changeAll(PRODUCERS.DAVX5, {
    body: { contentType: 'text', content },
    location: 'Room\u20281',
  })
  expect(read(text).event).toMatchObject({ body: { content: 'a\tb\nc\nd' }, location: 'Room 1' })
  const html = changeAll(PRODUCERS.DAVX5, {
    body: { contentType: 'html', content: '<p>\n\t<b>x</b>\u2028</p>' },
  })
  expect(read(html).event!.body!.content).toContain('\t<b>x</b>')
})

test('the link to a meeting follows it into the location and the body', () => {
  const [first, second] = ['https://zoom.us/j/1', 'https://zoom.us/j/2']
  const body = { contentType: 'text', content: 'Agenda' } as const
  const met = changeAll(PRODUCERS.DAVX5, { body, onlineMeetingUrl: first })
  const link = (url: string) => ({
    location: url,
    body: { content: `Agenda\n\nJoin: ${url}` },
    onlineMeetingUrl: url,
  })
  expect(read(met).event).toMatchObject(link(first))
  const moved = changeAll(met, { onlineMeetingUrl: second })
  expect(read(moved).event).toMatchObject(link(second))
  expect(read(changeAll(moved, { onlineMeetingUrl: null })).event).toMatchObject({
    location: null,
    body,
    onlineMeetingUrl: null,
  })
})

test('an answer changes the own attendee alone', () => {
  const own = { own: new Set(['grace@example.com']) }
  const response = { response: 'tentative', comment: null } as const
  const after = edit(PRODUCERS.GOOGLE, { type: 'respond', part: { type: 'all' }, response }, own)
  expect(changedNames(PRODUCERS.GOOGLE, after)).toEqual(new Set([...STAMPS, 'ATTENDEE']))
  expect(read(after).event!.attendees).toMatchObject([{ response: 'accepted' }, { response: 'tentative' }])
  const one = edit(PRODUCERS.GOOGLE, { type: 'respond', part: member('20261217T090000'), response }, own)
  expect(read(one).members.exceptions).toMatchObject([
    { event: { attendees: [{}, { response: 'tentative' }] } },
  ])
  expect(() => edit(PRODUCERS.APPLE, { type: 'respond', part: { type: 'all' }, response }, own)).toThrow(
    'not invited',
  )
})

test.each([
  ['a control character', { subject: 'a\u0007b' }],
  ['half of a pair', { subject: '\ud800' }],
  ['a personal event', { sensitivity: 'personal' }],
  ['a meeting of the provider', { onlineMeeting: true }],
] as const)('%s is refused', (_, change) => {
  expect(() => changeAll(PRODUCERS.APPLE, change)).toThrow()
})

test('new events have a definition of their zone', () => {
  const fields = {
    start: { wall: '20261201T090000', zone: 'America/New_York' },
    end: { wall: '20261201T180000', zone: 'Europe/Berlin' },
    subject: 'Flight',
    location: null,
    body: null,
    attendees: [],
    recurrence: { rule: 'FREQ=DAILY;COUNT=3', dates: [], taken: ['20261202T090000'] },
    showAs: 'busy',
    sensitivity: 'normal',
    onlineMeeting: false,
    onlineMeetingUrl: null,
  } as const
  const text = edit(Buffer.alloc(0), { type: 'create', uid: 'new', fields }).toString()
  expect(text.match(/BEGIN:VTIMEZONE\r\nTZID:.*/g)).toEqual([
    'BEGIN:VTIMEZONE\r\nTZID:America/New_York',
    'BEGIN:VTIMEZONE\r\nTZID:Europe/Berlin',
  ])
  expect(text).toContain('SEQUENCE:0\r\n')
  expect(read(Buffer.from(text))).toMatchObject({
    uid: 'new',
    event: { start: fields.start, end: fields.end },
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
  fc.assert(
    fc.property(fc.constantFrom(...GIVEN), fc.array(changes, { maxLength: 4 }), ([, bytes], given) => {
      const { event } = read(bytes)
      // A body of an event with a meeting gets a line more.
      const kept = event!.onlineMeetingUrl === null ? {} : { body: event!.body }
      const all = given.map(change => ({ ...(change as EventChange), ...kept }))
      const after = all.reduce((file, change) => changeAll(file, change), bytes)
      const names = new Set([...STAMPS, ...CHANGES.flatMap(([, touched]) => touched)])
      for (const name of changedNames(bytes, after)) expect(names).toContain(name)
      expect(read(after).event).toMatchObject(Object.assign({}, ...all) as object)
    }),
    { numRuns: 60 },
  )
})
