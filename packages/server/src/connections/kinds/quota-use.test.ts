/** @module-tag postgres-16-in-soak */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../../test/open-database.ts'
import type { Db } from '../../database/pool.ts'
import { ProviderFailure } from '../../providers/failure.ts'
import { QuotaGovernor, type Urgency } from '../../providers/google/governor.ts'
import { sharedUse, sweepQuotaUse } from './quota-use.ts'

const USER_UNITS = 6_000
const PROJECT_UNITS = 9_000
const CALL_UNITS = 100

/** Processes that share quotas by a database. Their own clocks stand still until they are moved. */
async function openProcesses() {
  const database = await openTestDatabase()
  const { db } = database
  const clock = { seconds: 1_000 }
  let count = 0
  function start(projectUnitsPerMinute = PROJECT_UNITS) {
    count += 1
    const governor = new QuotaGovernor({
      userUnitsPerMinute: USER_UNITS,
      projectUnitsPerMinute,
      sharing: { countProcesses: () => count, use: sharedUse(db) },
      now: () => clock.seconds * 1_000,
    })
    /** @returns how many units it got before it was refused */
    const takeAll = async (urgency: Urgency = 'prompt', user = 'ada', callUnits = CALL_UNITS) => {
      for (let units = 0; ; units += callUnits) {
        const wait = await waitFor(governor.userOf('project', user).take(callUnits, urgency))
        if (wait > 0) return units
      }
    }
    return { governor, takeAll }
  }
  return {
    db,
    clock,
    start,
    end: () => void (count -= 1),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  }
}

/** @returns the seconds until there is room, 0 if the units were taken */
async function waitFor(taking: Promise<void>): Promise<number> {
  try {
    await taking
    return 0
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    expect(error).toMatchObject({ kind: 'throttled', isBeforeAcceptance: true, isBusy: true })
    return error.retryAfterSeconds ?? 0
  }
}

/** Lets this time pass for what was used. */
async function ageUse(db: Db, seconds: number): Promise<void> {
  await sql`update quota_use set seconds = array(select unnest(seconds) - ${seconds}::bigint)`.execute(db)
}

test('a busy process has nearly all of a quota while the others are idle, and together they never exceed it', async () => {
  await using processes = await openProcesses()
  const [busy, second, third] = [processes.start(), processes.start(), processes.start()]
  const first = await busy.takeAll()
  expect(first).toBeGreaterThan(0.95 * USER_UNITS)
  const all = first + (await second.takeAll()) + (await third.takeAll()) + (await busy.takeAll())
  expect(all).toBeLessThanOrEqual(USER_UNITS)
  expect(all).toBeGreaterThan(0.97 * USER_UNITS)
})

test('processes that ask at the same time never get more than the quota', async () => {
  await using processes = await openProcesses()
  const started = [processes.start(), processes.start(), processes.start()]
  const taken = await Promise.all(started.flatMap(({ takeAll }) => [takeAll(), takeAll(), takeAll()]))
  const all = taken.reduce((sum, units) => sum + units, 0)
  expect(all).toBeLessThanOrEqual(USER_UNITS)
  expect(all).toBeGreaterThan(0.97 * USER_UNITS)
})

test('a process that is alone asks nobody', async () => {
  await using processes = await openProcesses()
  const alone = processes.start()
  expect(await alone.takeAll()).toBe(USER_UNITS)
  expect(await processes.db.selectFrom('quota_use').select('name').execute()).toEqual([])
})

test('small use of several processes is not asked for', async () => {
  await using processes = await openProcesses()
  const [one, other] = [processes.start(), processes.start()]
  for (const { governor } of [one, other]) await governor.userOf('project', 'ada').take(1, 'prompt')
  expect(await processes.db.selectFrom('quota_use').select('name').execute()).toEqual([])
})

test('units that a process used while it was alone count once there is another one', async () => {
  await using processes = await openProcesses()
  const one = processes.start()
  expect(await one.takeAll()).toBe(USER_UNITS)
  const other = processes.start()
  expect(await one.takeAll('prompt', 'ada', 1)).toBe(0)
  expect(await other.takeAll()).toBeLessThan(0.05 * USER_UNITS)
})

test('a project without a limit is not counted, so its users do not wait for one row', async () => {
  await using processes = await openProcesses()
  const [one] = [processes.start(Infinity), processes.start(Infinity)]
  expect(await one.takeAll('prompt', 'ada')).toBeGreaterThan(0.9 * USER_UNITS)
  expect(await one.takeAll('prompt', 'ben')).toBeGreaterThan(0.9 * USER_UNITS)
  const { rows } = await sql`select from quota_use`.execute(processes.db)
  expect(rows).toHaveLength(2)
})

test('units that a process used beside another one count once it is alone', async () => {
  await using processes = await openProcesses()
  const { clock } = processes
  const [one] = [processes.start(), processes.start()]
  await one.governor.userOf('project', 'ada').take(1, 'prompt')
  processes.end()
  // Units of the other process still count, so the table is asked.
  clock.seconds += 30
  const beside = await one.takeAll()
  expect(beside).toBeGreaterThan(0.9 * USER_UNITS)
  clock.seconds += 40
  expect(beside + (await one.takeAll())).toBeLessThanOrEqual(USER_UNITS)
  clock.seconds += 61
  expect(await one.takeAll()).toBe(USER_UNITS)
})

test('background work of all processes leaves a part to prompt calls', async () => {
  await using processes = await openProcesses()
  const [one, other] = [processes.start(), processes.start()]
  const background = (await one.takeAll('background')) + (await other.takeAll('background'))
  expect(background).toBeGreaterThan(0.75 * USER_UNITS)
  expect(background).toBeLessThanOrEqual(0.8 * USER_UNITS)
  expect(await other.takeAll('prompt')).toBeGreaterThan(0.1 * USER_UNITS)
})

test('a project is bounded over its users and processes, and a refusal takes nothing of the user', async () => {
  await using processes = await openProcesses()
  const [one, other] = [processes.start(), processes.start()]
  const ada = await one.takeAll('prompt', 'ada')
  const ben = await other.takeAll('prompt', 'ben')
  expect(ada + ben).toBeLessThanOrEqual(PROJECT_UNITS)
  expect(ada + ben).toBeGreaterThan(0.95 * PROJECT_UNITS)
  const { governor } = other
  const room = governor.userOf('another project', 'ben').requireRoom(USER_UNITS / 2, 'prompt')
  expect(await waitFor(room)).toBe(0)
})

test('there is room again when a minute is over, and not before', async () => {
  await using processes = await openProcesses()
  const { db } = processes
  const [one, other] = [processes.start(), processes.start()]
  const { governor } = other
  const ask = () => waitFor(governor.userOf('project', 'ada').requireRoom(1_000, 'prompt'))
  await one.takeAll()
  const seconds = await ask()
  expect(seconds).toBeGreaterThan(0)
  expect(seconds).toBeLessThanOrEqual(61)
  await ageUse(db, 61)
  expect(await ask()).toBe(0)
  expect(await one.takeAll()).toBeGreaterThan(0.9 * USER_UNITS)
})

test('use from before the clock of the database was set back does not count', async () => {
  await using processes = await openProcesses()
  const { db } = processes
  const [one] = [processes.start(), processes.start()]
  await one.takeAll()
  await ageUse(db, -3_600)
  expect(await one.takeAll()).toBeGreaterThan(0.9 * USER_UNITS)
})

test('rows of quotas that nobody uses are deleted', async () => {
  await using processes = await openProcesses()
  const { db } = processes
  const [one, other] = [processes.start(), processes.start()]
  for (const { takeAll } of [one, other]) await takeAll()
  await sweepQuotaUse(db)
  expect(await db.selectFrom('quota_use').select('name').execute()).toHaveLength(2)
  await ageUse(db, 3_700)
  await sweepQuotaUse(db)
  expect(await db.selectFrom('quota_use').select('name').execute()).toEqual([])
})
