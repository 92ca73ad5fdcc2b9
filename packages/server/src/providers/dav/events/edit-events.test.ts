import { expect, test } from 'vitest'
import {
  changeAll,
  changedNames,
  edit,
  member,
  read,
  STAMPS,
} from '../../../../test/calendars/odd/edit-file.ts'
import { PRODUCERS } from '../../../../test/calendars/odd/producers.ts'
import { calendarFile, eventText } from '../../../../test/servers/event-text.ts'
import type { EventInput } from '../../changing-calendars.ts'
import type { EventEdit } from './event-edit.ts'
import { splitFile } from '../../../kit/content-lines/content-file.ts'

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

test('each change has a later stamp than the one before, also within a second', () => {
  const stampsOf = (bytes: Buffer) => bytes.toString().match(/^(?:DTSTAMP|LAST-MODIFIED):\S+/gm)
  const first = changeAll(PRODUCERS.GOOGLE, { location: 'One' })
  expect(stampsOf(first)).toEqual(['DTSTAMP:20261129T120000Z', 'LAST-MODIFIED:20261129T120000Z'])
  const second = changeAll(first, { location: 'Two' })
  expect(stampsOf(second)).toEqual(['DTSTAMP:20261129T120001Z', 'LAST-MODIFIED:20261129T120001Z'])
  // No other time is later than this one.
  const last = Buffer.from(second.toString().replace('DTSTAMP:20261129T120001Z', 'DTSTAMP:99991231T235959Z'))
  expect(stampsOf(changeAll(last, { location: 'Three' }))).toEqual(stampsOf(first))
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

test('a comment on an answer takes the place of the last one, and not of those of others', () => {
  const given = Buffer.from(
    calendarFile([
      eventText('one', [
        'DTSTART:20261201T090000Z',
        'ORGANIZER:mailto:boss@example.org',
        'ATTENDEE:mailto:ada@example.com',
        'COMMENT:Please be there',
      ]),
    ]),
  )
  const answer = (bytes: Buffer, comment: string | null) =>
    edit(bytes, { type: 'respond', part: { type: 'all' }, response: { response: 'accepted', comment } })
  const commentsOf = (bytes: Buffer) =>
    splitFile(bytes).lines.flatMap(({ content }) => (content?.name === 'COMMENT' ? [content.value] : []))
  const late = answer(given, 'Late, sorry')
  expect(commentsOf(late)).toEqual(['Please be there', 'Late\\, sorry'])
  expect(commentsOf(answer(late, 'On time'))).toEqual(['Please be there', 'On time'])
  expect(commentsOf(answer(late, null))).toEqual(['Please be there'])
  expect(answer(late, 'Late, sorry').equals(late)).toBe(true)
})

test('a file that is not read as it was meant is not written', () => {
  const fields: EventInput = {
    start: { wall: '20261201T090000', zone: 'Europe/Berlin' },
    end: { wall: '20261201T100000', zone: 'Europe/Berlin' },
    subject: 'Odd',
    location: null,
    body: null,
    attendees: [],
    recurrence: null,
    showAs: 'busy',
    sensitivity: 'normal',
    onlineMeeting: false,
    onlineMeetingUrl: null,
  }
  const create = (change: Partial<EventInput>) => () =>
    edit(Buffer.alloc(0), { type: 'create', uid: 'one', fields: { ...fields, ...change } })
  expect(create({})).not.toThrow()
  const asMeant = 'would not be read as it was meant'
  const nobody = [{ name: null, address: 'no address', type: 'required' }] as const
  expect(create({ attendees: nobody })).toThrow(asMeant)
  expect(create({ recurrence: { rule: 'FREQ=DAILY\r\nX:1', dates: [], taken: [] } })).toThrow()
  expect(create({ start: { wall: '20261301T090000', zone: 'Europe/Berlin' } })).toThrow()
  // A component without an end takes what comes behind it.
  const open = Buffer.from(calendarFile([eventText('one', ['DTSTART:20261201T090000Z', 'BEGIN:VALARM'])]))
  expect(() => changeAll(open, { reminderMinutes: 5 })).toThrow(asMeant)
})
