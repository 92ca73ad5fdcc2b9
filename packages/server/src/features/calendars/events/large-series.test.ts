import { PerformanceObserver, type PerformanceEntry } from 'node:perf_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { openExpander } from '../../../kit/recurrence/expander.ts'
import { DAY_MS, printWall } from '../../../kit/wall-clock.ts'

/** Milliseconds of the processor for which the event loop may be kept. */
const SLICE_MS_MAX = 20
const TRIES_MAX = 3

const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS
const wall = (days: number, minutes = 0) => printWall(TODAY + days * DAY_MS + minutes * 60_000)
const times = {
  start: { wall: wall(-3000), zone: 'Europe/Berlin' },
  end: { wall: wall(-3000, 5), zone: 'Europe/Berlin' },
}

/** The longest time of the processor that one turn of the event loop takes while something is done, without collections of garbage. */
async function longestTurn(work: () => Promise<void>): Promise<number> {
  const turns: Array<{ from: number; to: number; ms: number }> = []
  const collections: PerformanceEntry[] = []
  const collecting = new PerformanceObserver(list => void collections.push(...list.getEntries()))
  collecting.observe({ entryTypes: ['gc'] })
  let isOver = false
  let from = performance.now()
  let used = process.threadCpuUsage()
  const look = () => {
    const { user, system } = process.threadCpuUsage(used)
    const to = performance.now()
    turns.push({ from, to, ms: (user + system) / 1000 })
    used = process.threadCpuUsage()
    from = performance.now()
    if (!isOver) setImmediate(look)
  }
  setImmediate(look)
  await work()
  isOver = true
  // The entries of the last collections come later.
  await nextTurn()
  collections.push(...collecting.takeRecords())
  collecting.disconnect()
  const collectedIn = ({ from: begun, to }: { from: number; to: number }) =>
    collections
      .filter(({ startTime }) => startTime >= begun && startTime < to)
      .reduce((sum, { duration }) => sum + duration, 0)
  return Math.max(...turns.filter(({ ms }) => ms > 1).map(turn => turn.ms - collectedIn(turn)))
}

/** Rules with many members before the window and few in it, each of which is counted. */
const SLOW = [
  'FREQ=DAILY;COUNT=2950',
  'FREQ=MONTHLY;BYDAY=-1FR;COUNT=110',
  'FREQ=HOURLY;INTERVAL=8;COUNT=8850',
  'FREQ=HOURLY;INTERVAL=12;COUNT=5900',
  'FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR;COUNT=2100',
]

/** Series that are expanded in the thread: so many with slow rules, one with more dates than are kept, and one of seconds. */
const SERIES = 500

/** An account with a calendar that was read, and with slow series that were not. */
async function openWithSlowSeries(
  door: Awaited<ReturnType<typeof openCalendarDoor>>,
  expander: ReturnType<typeof openExpander>,
) {
  const account = await door.openAccount('files')
  const { memory } = account
  const [calendar = ''] = memory.calendars.keys()
  const before = expander.slowCount
  memory.add(calendar, times, { recurrence: ['RRULE:FREQ=DAILY'] })
  await account.pass()
  expect(expander.slowCount).toBe(before)
  for (let nth = 0; nth < SERIES; nth++)
    memory.add(
      calendar,
      { ...times, subject: `${nth}` },
      { recurrence: [`RRULE:${SLOW[nth % SLOW.length]}`] },
    )
  const rdates = Array.from({ length: 10_001 }, (_, nth) => wall(-80, nth))
  memory.add(
    calendar,
    { ...times, subject: 'dates' },
    { recurrence: [`RDATE;TZID=Asia/Tokyo:${rdates.join(',')}`] },
  )
  memory.add(
    calendar,
    { ...times, subject: 'seconds' },
    { recurrence: ['RRULE:FREQ=SECONDLY;BYHOUR=9;BYMINUTE=0'] },
  )
  return account
}

test('500 series with rules that take long are expanded in a thread, and keep the event loop for 20 ms at most', async () => {
  await using expander = openExpander()
  await using database = await openTestDatabase()
  await using door = await openCalendarDoor(database, { expander })
  let longest = Infinity
  // A compilation adds to a turn, and hardly to the same one again.
  for (let tries = 1; tries <= TRIES_MAX && longest > SLICE_MS_MAX; tries++) {
    const account = await openWithSlowSeries(door, expander)
    const before = expander.slowCount
    longest = Math.min(longest, await longestTurn(async () => void (await account.pass())))
    expect(expander.slowCount).toBe(before + SERIES + 2)
    const { rows } = await sql<{ subject: string; spans: number }>`
      select shown ->> 'subject' as subject, (select count(*)::int from calendar_span where root_id = calendar_event.id) as spans
      from calendar_event where account_id = ${account.id} and is_truncated order by subject
    `.execute(door.db)
    expect(rows.map(({ subject }) => subject)).toEqual(['dates', 'seconds'])
    // Some lie before the window.
    for (const { spans } of rows) expect(spans).toBeGreaterThan(8_000)
  }
  expect(longest).toBeLessThanOrEqual(SLICE_MS_MAX)
})
