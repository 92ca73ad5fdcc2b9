/** @module-tag postgres-16-in-soak */
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { makeTaskDue } from '../../test/make-task-due.ts'
import { openTestApp } from '../../test/open-app.ts'
import { openTestDatabase } from '../../test/open-database.ts'
import { PATIENT_LEASE } from '../../test/patient-lease.ts'
import { sampleAccount } from '../../test/sample-rows.ts'
import { waitUntil } from '../../test/wait-until.ts'
import { type Database, type Db, openDatabase } from '../database/pool.ts'
import { openWakes } from '../database/wake.ts'
import { openLog, silentLog } from '../kit/log.ts'
import { Instance } from '../processes/instance.ts'
import { Pulse } from '../processes/pulse.ts'
import { type RecurringTask, RecurringTasks } from './recurring-tasks.ts'
import { dailyAt, everyMinutes, hourlyAt, type Schedule } from './schedule.ts'

/** A schedule that does not fall due while a test runs. */
const RARELY = everyMinutes(10_000_000)

/** Opens the part of a process that runs recurring tasks. */
async function openRunner(database: Database, ...tasks: RecurringTask[]) {
  await using opened = new AsyncDisposableStack()
  const { db, address } = database
  const logLines: string[] = []
  const log = openLog({
    level: 'warn',
    format: 'json',
    destination: { write: line => void logLines.push(line) },
  })
  const facts = { roles: ['jobs'], host: 'test', version: '0.0.0' }
  const instance = opened.use(
    await Instance.start({ address, log: silentLog, facts, isAlone: false, pace: PATIENT_LEASE }),
  )
  const wakes = opened.use(openWakes(address, silentLog))
  const pulse = opened.use(new Pulse(db, silentLog))
  const runner = opened.use(new RecurringTasks({ db, instance, pulse, tasks, log }))
  const wake = () => runner.wake()
  wakes.on(['waxwing_job'], { onWake: wake, onListening: wake })
  const owned = opened.move()
  return { runner, instance, logLines, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

const findRow = (db: Db, name: string) =>
  db
    .selectFrom('recurring_task')
    .select(['due_at', 'claimed_by'])
    .where('name', '=', name)
    .executeTakeFirstOrThrow()

async function waitForRelease(db: Db, name: string) {
  await waitUntil('the end of the task', async () => (await findRow(db, name)).claimed_by === null)
}

describe('a recurring task', () => {
  test('runs again after it failed, and never in two processes at once', async () => {
    await using database = await openTestDatabase()
    const { db, pool } = database
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
        if (runs > 1) await mayEnd.promise
        running -= 1
        if (runs === 1) throw new Error('the first time')
      },
    }
    const other = Promise.withResolvers<void>()
    const probe = { name: 'probe', schedule: RARELY, run: async () => other.resolve() }
    await using one = await openRunner(database, task)
    await using two = await openRunner(database, task, probe)

    await makeTaskDue(pool, 'count')
    await waitUntil('the first run', async () => runs === 1)
    await waitForRelease(db, 'count')
    await makeTaskDue(pool, 'count')
    await waitUntil('the second run', async () => runs === 2)
    // A look that takes the probe has also seen the task, which is due but running.
    await makeTaskDue(pool, 'count')
    await makeTaskDue(pool, 'probe')
    await other.promise
    expect(runs).toBe(2)
    mayEnd.resolve()
    await waitUntil('the third run', async () => runs === 3)

    expect(runningMax).toBe(1)
    expect([...one.logLines, ...two.logLines].join()).toContain('the first time')
  })

  test('is first due at its next time, and afterwards at the one after', async () => {
    await using database = await openTestDatabase()
    const { db, pool } = database
    const schedules: Record<string, Schedule> = {
      each_minute: everyMinutes(1),
      each_ten: everyMinutes(10),
      each_hour: hourlyAt(17),
      each_day: dailyAt(3, 23),
    }
    const tasks = Object.entries(schedules).map(([name, schedule]) => ({
      name,
      schedule,
      run: () => Promise.resolve(),
    }))
    const listTimes = async () => {
      const { rows } = await sql<{ name: string; due: string; isAhead: boolean }>`
        select name, to_char(due_at at time zone 'UTC', 'HH24:MI:SS') as due,
          due_at between clock_timestamp() and clock_timestamp() + interval '1 day' as "isAhead"
        from recurring_task order by name
      `.execute(db)
      return rows
    }
    const areAhead = async () => {
      const rows = await listTimes()
      return rows.length === tasks.length && rows.every(({ isAhead }) => isAhead) && rows
    }
    const expected = [
      { name: 'each_day', due: '03:23:00' },
      { name: 'each_hour', due: expect.stringMatching(/^\d\d:17:00$/) },
      { name: 'each_minute', due: expect.stringMatching(/^\d\d:\d\d:00$/) },
      { name: 'each_ten', due: expect.stringMatching(/^\d\d:\d0:00$/) },
    ].map(row => ({ ...row, isAhead: true }))
    await using _runner = await openRunner(database, ...tasks)

    expect(await waitUntil('the rows', areAhead)).toEqual(expected)
    for (const { name } of tasks) await makeTaskDue(pool, name)
    expect(await waitUntil('the runs', areAhead)).toEqual(expected)
  })

  test('runs at once if its time passed while no process was running, or lies further ahead than its interval', async () => {
    await using database = await openTestDatabase()
    const { pool } = database
    const ran = { missed: Promise.withResolvers<void>(), ahead: Promise.withResolvers<void>() }
    await pool.query(`insert into recurring_task (name, due_at) values
      ('missed', clock_timestamp() - interval '2 days'), ('ahead', clock_timestamp() + interval '2 days')`)
    const names = ['missed', 'ahead'] as const

    await using _runner = await openRunner(
      database,
      ...names.map(name => ({ name, schedule: dailyAt(3, 23), run: async () => ran[name].resolve() })),
    )

    await Promise.all(names.map(name => ran[name].promise))
  })

  test('of a process that died runs in another', async () => {
    await using database = await openTestDatabase()
    const { db, pool } = database
    await pool.query(`insert into instance (id, heartbeat_until)
      values ('00000000-0000-7000-8000-000000000001', clock_timestamp() - interval '1 second')`)
    await pool.query(`insert into recurring_task (name, due_at, claimed_by)
      values ('left', clock_timestamp(), '00000000-0000-7000-8000-000000000001')`)
    const ran = Promise.withResolvers<void>()

    await using _runner = await openRunner(database, {
      name: 'left',
      schedule: RARELY,
      run: async () => ran.resolve(),
    })

    await ran.promise
    await waitForRelease(db, 'left')
  })

  test('is told to stop and waited for when its process stops', async () => {
    await using database = await openTestDatabase()
    const { db, pool } = database
    const started = Promise.withResolvers<void>()
    let hasEnded = false
    await using opened = await openRunner(database, {
      name: 'wait',
      schedule: RARELY,
      async run(signal) {
        started.resolve()
        await new Promise(resolve => signal.addEventListener('abort', resolve))
        hasEnded = true
      },
    })
    await makeTaskDue(pool, 'wait')
    await started.promise

    await opened.runner[Symbol.asyncDispose]()

    expect(hasEnded).toBe(true)
    expect(await findRow(db, 'wait')).toMatchObject({ claimed_by: null })
    expect(opened.logLines).toEqual([])
  })

  test('that does not stop is left behind, with a warning', async () => {
    await using database = await openTestDatabase()
    const mayEnd = Promise.withResolvers<void>()
    const started = Promise.withResolvers<void>()
    await using opened = await openRunner(database, {
      name: 'deaf',
      schedule: RARELY,
      run() {
        started.resolve()
        return mayEnd.promise
      },
    })
    await makeTaskDue(database.pool, 'deaf')
    await started.promise

    await opened.runner[Symbol.asyncDispose]()

    expect(opened.logLines.join()).toContain('"task":"deaf"')
    mayEnd.resolve()
    await waitForRelease(database.db, 'deaf')
  })

  test('that ends while the database refuses connections runs again once it takes them', async () => {
    await using database = await openTestDatabase()
    const { pool, address } = database
    if (!('database' in address)) throw new Error('The test database is reached by its folder')
    await using other = openDatabase({
      address: { ...address, database: 'postgres' },
      applicationName: 'other',
    })
    const mayEnd = Promise.withResolvers<void>()
    let runs = 0
    await using opened = await openRunner(database, {
      name: 'end_late',
      schedule: RARELY,
      async run() {
        runs += 1
        await mayEnd.promise
      },
    })
    await makeTaskDue(pool, 'end_late')
    await waitUntil('the first run', async () => runs === 1)
    await other.pool.query(`alter database ${address.database} with allow_connections false`)
    await other.pool.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid()',
      [address.database],
    )

    mayEnd.resolve()
    const hasLogged = (text: string) => opened.logLines.some(line => line.includes(text))
    await waitUntil('a release that fails', async () => hasLogged('Could not release a recurring task'))
    await waitUntil('a look that fails', async () => hasLogged('Could not look for recurring tasks'))
    await other.pool.query(`alter database ${address.database} with allow_connections true`)
    // The pool may still hold connections that were ended and have not said so.
    await waitUntil('the task due', () =>
      makeTaskDue(pool, 'end_late').then(
        () => true,
        () => false,
      ),
    )

    await waitUntil('the second run', async () => runs === 2)
  })
})

test('the role jobs runs the tasks of every wing', async () => {
  await using app = await openTestApp({ roles: ['api', 'jobs'] })
  const { id } = await sampleAccount(app.db, app.tenantId, { email: 'canary@example.com' })
  await app.delete(`/v1/accounts/${id}?purge=true`)
  const { pool } = app.database

  await makeTaskDue(pool, 'purge_accounts')
  await waitUntil('the purge', async () => {
    const { purged_at } = await app.db.selectFrom('account').select('purged_at').executeTakeFirstOrThrow()
    return purged_at !== null
  })
  const { rows } = await pool.query<{ name: string }>('select name from recurring_task order by name')
  expect(rows.map(({ name }) => name)).toMatchInlineSnapshot(`
    [
      "fail_sends",
      "fold_usage",
      "forget_tokens",
      "keep_audit_heads",
      "list_stored_bytes",
      "make_event_partitions",
      "prune_calendar_windows",
      "purge_accounts",
      "roll_calendar_windows",
      "sample_live_accounts",
      "settle_sends",
      "settle_sent_copies",
      "spread_grants",
      "spread_halves",
      "sweep_account_tokens",
      "sweep_answers",
      "sweep_blobs",
      "sweep_connect_sessions",
      "sweep_contact_photos",
      "sweep_events",
      "sweep_message_copies",
      "sweep_orphans",
      "sweep_outbox",
      "sweep_outbox_content",
      "sweep_quota_use",
      "sweep_rate_windows",
      "sweep_slots",
      "sweep_suppression_lists",
      "sweep_thread_links",
      "sweep_tracking",
      "sweep_uploads",
      "sweep_usage",
      "sweep_webhooks",
      "trim_audit_log",
    ]
  `)
  await pool.query('update recurring_task set due_at = clock_timestamp()')
  await makeTaskDue(pool, 'sweep_events')
  const undone = 'select from recurring_task where due_at <= clock_timestamp() or claimed_by is not null'
  await waitUntil('every task', async () => (await pool.query(undone)).rowCount === 0)

  expect(app.logLines.filter(line => line.includes('"level":"error"'))).toEqual([])
})
