import { expect, test } from 'vitest'
import { calendarFile, eventText } from '../../../test/servers/event-text.ts'
import { chooseEvents, type SelectingServer } from './calendar-selection.ts'
import { eventFiles } from './event-files.ts'
import { openFileThread } from './file-thread.ts'
import type { RemoteItem } from '../calendars.ts'

const window = { start: new Date('2026-09-01T00:00:00Z'), end: new Date('2027-09-01T00:00:00Z') }
const kind = eventFiles({ timeZone: null, window })
const reading = { home: new URL('https://dav.example.com/'), files: openFileThread() }

const OLD = ['DTSTART:20250101T090000Z', 'DTEND:20250101T100000Z']
const NEW = ['DTSTART:20261201T090000Z', 'DTEND:20261201T100000Z']
const SERIES = [...OLD, 'RRULE:FREQ=DAILY']

/** A server with 300 old events beside these, and what it answers to questions about time and rules. */
function serverWith(
  others: Readonly<Record<string, readonly string[]>>,
  answers: { time: readonly string[] | null; rules: readonly string[] | null },
) {
  const old = Array.from({ length: 300 }, (_, n) => [`old-${String(n).padStart(3, '0')}`, OLD] as const)
  const files = new Map<string, readonly string[]>([...old, ...Object.entries(others)])
  const asked = { filters: [] as string[], read: 0 }
  const server: SelectingServer = {
    async query(filter) {
      asked.filters.push(filter)
      const answer = filter.includes('time-range') ? answers.time : answers.rules
      return answer && new Set(answer)
    },
    async read(paths) {
      asked.read += paths.length
      const items = await Promise.all(paths.map(path => readItem(path, files.get(path)!)))
      return { items, unreadable: [], absent: [] }
    },
  }
  return { server, paths: [...files.keys()].toSorted(), asked }
}

async function readItem(path: string, lines: readonly string[]): Promise<RemoteItem> {
  const bytes = Buffer.from(calendarFile([eventText(path, lines)]))
  const read = await kind.read({ path, bytes, etag: null }, reading)
  if (!('item' in read) || !read.item) throw new Error(`${path} cannot be read`)
  return read.item
}

test('asks nothing about few events, and chooses all', async () => {
  const { server, paths, asked } = serverWith({}, { time: [], rules: [] })

  expect((await chooseEvents(server, paths.slice(0, 100), window)).size).toBe(100)

  expect(asked).toEqual({ filters: [], read: 0 })
})

test('chooses what a server finds by time, and every series, and reads 50 of the others', async () => {
  const answers = { time: ['new'], rules: ['series'] }
  const { server, paths, asked } = serverWith({ new: NEW, series: SERIES }, answers)

  expect(await chooseEvents(server, paths, window)).toEqual(new Set(['new', 'series']))

  expect(asked.filters[0]).toBe('<time-range start="20260830T000000Z"/>')
  expect(asked.read).toBe(50)
})

test.each([
  [
    'finds no event in a time',
    { time: [], rules: [] },
    Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`new-${n}`, NEW])),
  ],
  [
    'finds no series',
    { time: [], rules: [] },
    Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`series-${n}`, SERIES])),
  ],
  ['does not take a question about time', { time: null, rules: [] }, { new: NEW }],
  ['does not take a question about rules', { time: ['new'], rules: null }, { new: NEW }],
])('chooses all events of a server that %s', async (_, answers, others) => {
  const { server, paths } = serverWith(others, answers)

  expect([...(await chooseEvents(server, paths, window))]).toEqual(paths)
})
