import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { calendarFile, eventText } from '../../../test/servers/event-text.ts'
import type { EventChange } from '../changing-calendars.ts'
import { UnreadableCard } from './cards/card.ts'
import { UnwritableCard } from './cards/check-change.ts'
import { UnreadableEvents } from './events/event-file.ts'
import { type FileThread, openFileThread } from './file-thread.ts'

const PARTY = 'https://dav.example.com/ada/'
const zones = {
  timeZone: 'Europe/Berlin',
  window: { start: new Date('2026-01-01T00:00:00Z'), end: new Date('2027-01-01T00:00:00Z') },
}

let started = 0
const count = () => void started++
let files: FileThread

beforeEach(() => {
  started = 0
  process.on('worker', count)
  files = openFileThread()
})
afterEach(async () => {
  process.off('worker', count)
  await files[Symbol.asyncDispose]()
})

const cardOf = (...lines: string[]) =>
  Buffer.from(['BEGIN:VCARD', 'VERSION:3.0', 'UID:u', 'FN:Ada', ...lines, 'END:VCARD', ''].join('\r\n'))
const eventsOf = (lines: readonly string[], zone = '') =>
  Buffer.from(calendarFile([zone, eventText('u', ['DTSTART:20260101T090000Z', ...lines])]))

const PHOTO = Buffer.alloc(3_000_000, 'photo')
const LARGE = cardOf(`PHOTO;ENCODING=b;TYPE=PNG:${PHOTO.toString('base64')}`)
const MANY_LINES = cardOf(...Array.from({ length: 90_000 }, () => 'TEL:1'))

/** Turns of the event loop until the work is done. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  const over = new AbortController()
  const done = work.finally(() => over.abort())
  let turns = 0
  for (; !over.signal.aborted; turns++) await nextTurn()
  await done
  return turns
}

test('small files need no thread', async () => {
  const { fields } = await files.readCard(PARTY, cardOf('TEL:1'))
  const written = await files.editCard(PARTY, cardOf(), { nickname: 'A' })
  const events = await files.readEvents(
    PARTY,
    eventsOf(['RRULE:FREQ=DAILY', 'EXDATE:20260102T090000Z']),
    zones,
  )
  expect(fields.phones).toHaveLength(1)
  expect(written.toString()).toContain('NICKNAME:A')
  expect(events).toMatchObject({ recurrence: ['RRULE:FREQ=DAILY'], members: { taken: ['20260102T090000'] } })
  expect(started).toBe(0)
})

test('a large card is read and edited in the thread, and keeps its photo', async () => {
  const { photo, fields } = await files.readCard(PARTY, LARGE)
  expect(fields.displayName).toBe('Ada')
  expect(photo).toMatchObject({ type: 'inline', contentType: 'image/png' })
  if (photo.type === 'inline') expect(PHOTO.equals(photo.content)).toBe(true)

  const written = await files.editCard(PARTY, LARGE, { nickname: 'A' })
  // A difference of megabytes would be printed whole.
  const wanted = Buffer.from(LARGE.toString('latin1').replace('END:VCARD', 'NICKNAME:A\r\nEND:VCARD'))
  expect(written.equals(wanted)).toBe(true)
  expect(started).toBe(1)
})

test.each([
  ['many values', eventsOf(['RRULE:FREQ=DAILY', `EXDATE:${Array(1000).fill('25000101T090000Z').join(',')}`])],
  [
    'a time zone of its own',
    eventsOf(
      ['RRULE:FREQ=DAILY', 'EXDATE;TZID=Odd:20260102T102300'],
      [
        'BEGIN:VTIMEZONE',
        'TZID:Odd',
        'BEGIN:STANDARD',
        'DTSTART:19700101T000000',
        'TZOFFSETFROM:+0123',
        'TZOFFSETTO:+0123',
        'END:STANDARD',
        'END:VTIMEZONE',
      ].join('\r\n'),
    ),
  ],
  [
    'several zones',
    eventsOf(
      ['Paris', 'Rome', 'Oslo', 'Vienna']
        .map(city => `EXDATE;TZID=Europe/${city}:20260102T100000`)
        .concat('RRULE:FREQ=DAILY'),
    ),
  ],
])('events with %s are read in the thread', async (_, bytes) => {
  const events = await files.readEvents(PARTY, bytes, zones)
  expect(events?.members.taken).toHaveLength(1)
  expect(started).toBe(1)
})

test('a large change of a small file is made in the thread', async () => {
  const attendees = Array.from({ length: 200 }, (_, nth) => ({
    name: null,
    address: `a${nth}@example.org`,
    type: 'required' as const,
  }))
  const changes: EventChange[] = [
    { body: { contentType: 'text', content: 'Long, '.repeat(2_000) } },
    { attendees },
  ]
  const self = { name: null, address: 'me@example.org' }
  const options = { self, own: new Set([self.address]), agent: null, now: new Date() }
  const part = { type: 'all', timesOf: null } as const
  const change = (asked: EventChange) =>
    files.editEvents(PARTY, eventsOf([]), { edit: { type: 'change', part, change: asked }, options, zones })
  await change({ subject: 'Short' })
  expect(started).toBe(0)
  for (const asked of changes) {
    await change(asked)
    expect(started).toBe(1)
    await files[Symbol.asyncDispose]()
    files = openFileThread()
    started = 0
  }
  await files.editCard(PARTY, cardOf(), { notes: 'Long, '.repeat(8_000) })
  expect(started).toBe(1)
})

test('the event loop turns while the thread reads', async () => {
  await files.readCard(PARTY, LARGE)
  expect(await turnsDuring(files.readCard(PARTY, MANY_LINES))).toBeGreaterThan(10)
})

test('refusals of the thread are those of the event loop', async () => {
  const noCard = Buffer.alloc(100_000, 'x')
  await expect(files.readCard(PARTY, noCard)).rejects.toThrow(UnreadableCard)
  await expect(files.readEvents(PARTY, noCard, zones)).rejects.toThrow(UnreadableEvents)
  await expect(files.editCard(PARTY, LARGE, { nickname: '\0' })).rejects.toThrow(UnwritableCard)
  expect(started).toBe(1)
})

test('a file that takes too long is unreadable, and the next one is read', async () => {
  await using hasty = openFileThread({ workMsMax: 2 })
  await expect(hasty.readCard(PARTY, MANY_LINES)).rejects.toThrow(UnreadableCard)
  await expect(hasty.readCard(PARTY, cardOf())).resolves.toMatchObject({ kind: 'contact' })
  await expect(hasty.readEvents(PARTY, MANY_LINES, zones)).rejects.toThrow(UnreadableEvents)
  expect(started).toBe(2)
})
