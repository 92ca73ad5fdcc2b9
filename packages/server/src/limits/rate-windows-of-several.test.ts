import { expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { openLog } from '../kit/log.ts'
import { createOwnRateWindows } from './own-limits.ts'
import { createRateWindowsOfSeveral } from './rate-windows-of-several.ts'
import { createTableWindows } from './table-windows.ts'

const LIMIT = 10
const WINDOW = { name: 'tenant', limit: LIMIT }
const START = Date.UTC(2030, 0, 1, 12, 0, 30)
/** A window of the table, whose clock is real, does not end while a test runs. */
const MONTH_MINUTES = 30 * 24 * 60

/** Processes on one database, which are told how many others there are, and how many minutes have passed. */
async function openProcesses() {
  const database = await openTestDatabase()
  const lines: string[] = []
  const log = openLog({
    level: 'warn',
    format: 'json',
    destination: { write: line => void lines.push(line) },
  })
  function start() {
    const given = { others: 0, minutes: 0 }
    const clock = { now: () => START + given.minutes * 60_000 }
    const windows = createRateWindowsOfSeveral({
      memory: createOwnRateWindows(clock),
      table: createTableWindows(database.db, MONTH_MINUTES),
      live: { countOthers: role => (role === 'api' ? given.others : 0), onChange: () => {} },
      clock,
      log,
    })
    return { ...windows, given, left: async () => (await windows.count([WINDOW]))?.remaining }
  }
  return { start, lines, database, [Symbol.asyncDispose]: () => database[Symbol.asyncDispose]() }
}

test('a process counts in memory while it is alone, and takes its counts along when another one comes', async () => {
  await using processes = await openProcesses()
  const [first, second] = [processes.start(), processes.start()]
  expect([await first.left(), await first.left(), await first.left()]).toEqual([9, 8, 7])
  expect(await processes.database.db.selectFrom('rate_window').selectAll().execute()).toEqual([])

  for (const one of [first, second]) one.given.others = 1
  expect(await first.left()).toBe(6)
  expect([await second.left(), await first.left(), await second.left()]).toEqual([5, 4, 3])
  expect(processes.lines.filter(line => line.includes('Several processes answer requests'))).toHaveLength(2)
})

test('when the other one is gone, the table counts to the end of the next minute', async () => {
  await using processes = await openProcesses()
  const one = processes.start()
  one.given.others = 1
  expect(await one.left()).toBe(9)
  one.given.others = 0
  expect(await one.left()).toBe(8)
  one.given.minutes = 1
  expect(await one.left()).toBe(7)
  one.given.minutes = 2
  expect(await one.left()).toBe(9)
})

test('requests that the table counts while its last minute ends count in the next one, too', async () => {
  await using processes = await openProcesses()
  const one = processes.start()
  one.given.others = 1
  const counting = [one.left(), one.left()]
  one.given.others = 0
  one.given.minutes = 2
  // Over several connections they are counted in any order.
  const left = await Promise.all([...counting, one.left(), one.left()])
  expect(left.toSorted()).toEqual([6, 7, 8, 9])
})

test('a process takes its counts along each time when another one comes', async () => {
  await using processes = await openProcesses()
  const one = processes.start()
  one.given.others = 1
  expect(await one.left()).toBe(9)
  one.given.others = 0
  one.given.minutes = 2
  expect([await one.left(), await one.left()]).toEqual([9, 8])
  one.given.others = 1
  expect(await one.left()).toBe(6)
})

test('requests pass uncounted while the table cannot be used', async () => {
  await using processes = await openProcesses()
  const one = processes.start()
  one.given.others = 1
  await processes.database.pool.query('alter table rate_window rename to elsewhere')
  expect(await one.count([WINDOW])).toBeNull()
  await processes.database.pool.query('alter table elsewhere rename to rate_window')
  expect(await one.left()).toBe(9)
})

test('requests are counted again after counts could not be taken along', async () => {
  await using processes = await openProcesses()
  const one = processes.start()
  expect(await one.left()).toBe(9)
  one.given.others = 1
  await processes.database.pool.query('alter table rate_window rename to elsewhere')
  expect(await one.count([WINDOW])).toBeNull()
  await processes.database.pool.query('alter table elsewhere rename to rate_window')
  expect(await one.left()).toBe(9)
})
