import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openTestApp } from '../../test/open-app.ts'
import { openTestDatabase } from '../../test/open-database.ts'
import { sampleAccount } from '../../test/sample-rows.ts'
import type { Db } from '../database/pool.ts'
import { silentLog } from '../kit/log.ts'
import { startRecurringTasks } from './runner.ts'

/** A schedule that does not fall due while a test runs. */
const RARELY = '0 0 29 2 *'

/** Runs a task now instead of on its schedule. */
async function addJob(db: Db, task: string) {
  await sql`select graphile_worker.add_job(${task})`.execute(db)
}

describe('startRecurringTasks', () => {
  test('runs a task, retries it after a failure, and never runs it in parallel', async () => {
    await using database = await openTestDatabase()
    const { db, address } = database
    let runs = 0
    let running = 0
    let runningMax = 0
    const mayEnd = Promise.withResolvers<void>()
    const task = {
      name: 'count',
      schedule: RARELY,
      async run() {
        runs += 1
        runningMax = Math.max(runningMax, (running += 1))
        if (runs === 1) {
          running -= 1
          throw new Error('the first time')
        }
        await mayEnd.promise
        running -= 1
      },
    }
    await using _one = await startRecurringTasks({ db, address, tasks: [task], log: silentLog })
    await using _two = await startRecurringTasks({ db, address, tasks: [task], log: silentLog })

    await addJob(db, 'count')
    await expect.poll(() => runs).toBe(1)
    await addJob(db, 'count')
    await expect.poll(() => runs).toBe(2)
    // These find the task running and leave it alone.
    for (let more = 0; more < 4; more += 1) await addJob(db, 'count')
    await expect
      .poll(
        async () =>
          (await sql`select from graphile_worker.jobs where locked_at is null`.execute(db)).rows.length,
      )
      .toBe(0)
    mayEnd.resolve()
    await expect.poll(() => running).toBe(0)
    expect(runningMax).toBe(1)
  })

  test('tells a running task to stop and waits for it when disposed', async () => {
    await using database = await openTestDatabase()
    const { db, address } = database
    const started = Promise.withResolvers<void>()
    let hasEnded = false
    const jobs = await startRecurringTasks({
      db,
      address,
      log: silentLog,
      tasks: [
        {
          name: 'wait',
          schedule: RARELY,
          async run(signal) {
            started.resolve()
            await new Promise(resolve => signal.addEventListener('abort', resolve))
            hasEnded = true
          },
        },
      ],
    })
    await addJob(db, 'wait')
    await started.promise

    await jobs[Symbol.asyncDispose]()

    expect(hasEnded).toBe(true)
  })
})

test('the schedule has connections of its own, and leaves the pool to others', async () => {
  await using database = await openTestDatabase()
  const { db, address } = database
  const mayEnd = Promise.withResolvers<void>()
  const task = { name: 'wait', schedule: RARELY, run: () => mayEnd.promise }
  await using _jobs = await startRecurringTasks({ db, address, tasks: [task], log: silentLog })
  for (let nth = 0; nth < 8; nth += 1) await addJob(db, 'wait')

  const holders = async () => {
    const { rows } = await sql<{ name: string; query: string }>`
      select application_name as name, query from pg_stat_activity
      where datname = current_database() and query like '%graphile_worker%' and pid <> pg_backend_pid()
        and query not like '%add_job%'
    `.execute(db)
    return rows.map(({ name }) => name)
  }
  await expect.poll(async () => (await holders()).length, { timeout: 60_000 }).toBeGreaterThan(0)
  const names = await holders()
  mayEnd.resolve()

  expect(new Set(names)).toEqual(new Set(['waxwing tasks']))
  expect(names.length).toBeLessThanOrEqual(4)
})

test('the role jobs purges a deleted account', async () => {
  await using app = await openTestApp({ roles: ['api', 'jobs'] })
  const { id } = await sampleAccount(app.db, app.tenantId, { email: 'canary@example.com' })
  await app.delete(`/v1/accounts/${id}?purge=true`)

  await addJob(app.db, 'purge_accounts')

  await expect
    .poll(
      async () => (await app.db.selectFrom('account').select('purged_at').executeTakeFirst())?.purged_at,
      {
        timeout: 60_000,
      },
    )
    .toBeInstanceOf(Date)
  for (const task of ['sweep_events', 'sweep_account_tokens', 'sweep_thread_links'])
    await addJob(app.db, task)
  await expect
    .poll(async () => (await sql`select from graphile_worker.jobs`.execute(app.db)).rows.length, {
      timeout: 60_000,
    })
    .toBe(0)
  expect(app.logLines.filter(line => line.includes('"level":"error"'))).toEqual([])
})
