/** @module-tag postgres-16 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { PATIENT_LEASE } from '../../test/patient-lease.ts'
import { sampleTenant } from '../../test/sample-rows.ts'
import { waitUntil } from '../../test/wait-until.ts'
import type { Database, Db } from '../database/pool.ts'
import { openWakes } from '../database/wake.ts'
import { inTransaction } from '../events/unit-of-work.ts'
import { openLog, silentLog } from '../kit/log.ts'
import { enqueue, type JobKind } from './enqueue.ts'
import { Instance } from '../processes/instance.ts'
import { type JobHandler, jobHandler, JobWorker, type RunningJob } from './job-worker.ts'
import { Pulse } from '../processes/pulse.ts'

const HANGING = fileURLToPath(new URL('../../test/hanging-job.ts', import.meta.url))

const note: JobKind<{ word: string }> = {
  name: 'note',
  parse(stored) {
    const { word } = stored as { word: unknown }
    if (typeof word !== 'string') throw new Error('no word')
    return { word }
  },
}

type Work = (word: string, job: RunningJob) => Promise<void>

async function openQueue() {
  await using opened = new AsyncDisposableStack()
  const database = opened.use(await openTestDatabase())
  const { db } = database
  const { id: tenantId } = await sampleTenant(db)
  const owned = opened.move()
  return {
    database,
    db,
    tenantId,
    enqueue: (...words: string[]) =>
      inTransaction(db, tenantId, unit =>
        enqueue(
          unit,
          note,
          words.map(word => ({ word })),
        ),
      ),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Opens the part of a process that runs jobs. */
async function openWorker(database: Database, work: Work, more: JobHandler[] = []) {
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
  const handlers = [jobHandler(note, ({ word }, job) => work(word, job)), ...more]
  const pulse = opened.use(new Pulse(db, silentLog))
  const worker = opened.use(new JobWorker({ db, instance, pulse, handlers, log }))
  const wake = () => worker.wake()
  wakes.on(['waxwing_job'], { onWake: wake, onListening: wake })
  const owned = opened.move()
  return { instance, logLines, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

const listJobs = (db: Db) =>
  db.selectFrom('job').select(['payload', 'attempts', 'claimed_by', 'due_at']).orderBy('id').execute()
const noneLeft = (db: Db) => waitUntil('all jobs to leave', async () => (await listJobs(db)).length === 0)
const makeDue = (db: Db) => sql`update job set due_at = clock_timestamp() - interval '1 second'`.execute(db)

describe('an enqueued job', () => {
  test('runs once after the commit and is deleted', async () => {
    await using queue = await openQueue()
    const { db } = queue
    const ran: string[] = []
    await using _worker = await openWorker(queue.database, async (word, { tenantId }) => {
      expect(tenantId).toBe(queue.tenantId)
      ran.push(word)
    })
    await inTransaction(db, queue.tenantId, async unit => {
      await enqueue(unit, note, [{ word: 'a' }, { word: 'b' }])
      await queue.enqueue('c')
      await waitUntil('the job of another transaction', () => Promise.resolve(ran.includes('c')))
      expect(ran).toEqual(['c'])
    })
    await noneLeft(db)
    expect(ran.toSorted()).toEqual(['a', 'b', 'c'])
  })

  test('runs beside jobs of another tenant that do not end', async () => {
    await using queue = await openQueue()
    const { db } = queue
    const released = Promise.withResolvers<void>()
    let hanging = 0
    const ran: string[] = []
    await queue.enqueue(...Array.from({ length: 6 }, () => 'hang'))
    await using _worker = await openWorker(queue.database, async word => {
      if (word === 'hang') hanging++
      else ran.push(word)
      if (word === 'hang') await released.promise
    })
    using _released = { [Symbol.dispose]: released.resolve }
    await waitUntil('jobs that hang', () => Promise.resolve(hanging === 3))
    const other = await sampleTenant(db)
    await inTransaction(db, other.id, unit => enqueue(unit, note, [{ word: 'beside' }]))
    await waitUntil('the job of another tenant', () => Promise.resolve(ran.includes('beside')))
    expect(hanging).toBe(3)
    released.resolve()
    await noneLeft(db)
  })

  test('does not run after a rollback', async () => {
    await using queue = await openQueue()
    const { db } = queue
    const failing = inTransaction(db, queue.tenantId, async unit => {
      await enqueue(unit, note, [{ word: 'rolled back' }])
      throw new Error('rolled back')
    })
    await expect(failing).rejects.toThrow('rolled back')
    expect(await listJobs(db)).toEqual([])
    const ran: string[] = []
    await using _worker = await openWorker(queue.database, async word => void ran.push(word))
    await queue.enqueue('committed')
    await noneLeft(db)
    expect(ran).toEqual(['committed'])
  })

  test('runs in one process only, however many look for jobs', async () => {
    await using queue = await openQueue()
    const ran: string[] = []
    await using opened = new AsyncDisposableStack()
    for (let worker = 0; worker < 3; worker++)
      opened.use(await openWorker(queue.database, async word => void ran.push(word)))
    const words = Array.from({ length: 60 }, (_, n) => String(n))
    for (let from = 0; from < 60; from += 12) await queue.enqueue(...words.slice(from, from + 12))
    await noneLeft(queue.db)
    expect(ran.toSorted()).toEqual(words.toSorted())
  })

  test('runs again in another process if its process was killed', async () => {
    await using queue = await openQueue()
    const { db, database } = queue
    await queue.enqueue('a')
    const program = spawn(process.execPath, [HANGING, JSON.stringify(database.address), note.name], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(program, 'exit')
    await once(program.stdout, 'data')
    const ran: string[] = []
    const run = async (word: string) => void ran.push(word)
    // Only this process takes jobs of this kind.
    const other: JobKind<{ word: string }> = { ...note, name: 'other' }
    await using _worker = await openWorker(database, run, [jobHandler(other, ({ word }) => run(word))])
    // A living process has claimed it by then.
    await makeDue(db)
    await inTransaction(db, queue.tenantId, unit => enqueue(unit, other, [{ word: 'b' }]))
    await waitUntil('the other job', () => Promise.resolve(ran.includes('b')))
    expect(ran).toEqual(['b'])

    program.kill('SIGKILL')
    await ended
    // No heartbeat comes any more, so its lease ends by itself; here, at once.
    await sql`
      update instance set heartbeat_until = clock_timestamp() - interval '1 second'
      where id = (select claimed_by from job)
    `.execute(db)
    await noneLeft(db)
    expect(ran).toEqual(['b', 'a'])
  })

  test('runs again after a failure, with a longer pause each time', async () => {
    await using queue = await openQueue()
    const { db } = queue
    await queue.enqueue('a')
    const pauses: number[] = []
    const attempts = [6, 9, 80]
    await using worker = await openWorker(queue.database, async () => {
      const { rows } = await sql<{ seconds: number }>`
        select extract(epoch from due_at - clock_timestamp())::float8 as seconds from job`.execute(db)
      pauses.push(rows[0]!.seconds)
      const made = attempts.shift()
      if (made === undefined) return
      // Makes the next attempt due at once, as if there had been this many.
      await sql`update job set attempts = ${made}, due_at = clock_timestamp()`.execute(db)
      throw new Error('not yet')
    })
    await noneLeft(db)
    expect(pauses[0]).toBeLessThanOrEqual(1)
    for (const [index, seconds] of [64, 512, 3_600].entries()) {
      expect(pauses[index + 1]).toBeGreaterThan(seconds - 30)
      expect(pauses[index + 1]).toBeLessThanOrEqual(seconds)
    }
    expect(worker.logLines.filter(line => line.includes('will be retried'))).toHaveLength(3)
  })

  test.each([
    ['failed', 99],
    ['ended its process', 100],
  ])('is given up when it %s 100 times', async (_, attempts) => {
    await using queue = await openQueue()
    const { db } = queue
    await queue.enqueue('a')
    await sql`update job set attempts = ${attempts}`.execute(db)
    let runs = 0
    await using worker = await openWorker(queue.database, async () => {
      runs++
      throw new Error('never')
    })
    await noneLeft(db)
    expect(runs).toBe(100 - attempts)
    await waitUntil('the error', () =>
      Promise.resolve(worker.logLines.some(line => line.includes('was given up'))),
    )
  })

  test('fails if its payload cannot be read, and does not hold up others', async () => {
    await using queue = await openQueue()
    const { db } = queue
    const ran: string[] = []
    await using worker = await openWorker(queue.database, async word => void ran.push(word))
    await inTransaction(db, queue.tenantId, async unit => {
      await enqueue(unit, { name: 'note', parse: () => 0 }, [7])
      await enqueue(unit, { name: 'unknown here', parse: () => 0 }, [1, 2, 3, 4, 5])
      await enqueue(unit, note, [{ word: 'a' }])
    })
    await waitUntil('the job', () => Promise.resolve(ran.includes('a')))
    await waitUntil('the failure', () =>
      Promise.resolve(worker.logLines.some(line => line.includes('no word'))),
    )
    expect((await listJobs(db)).map(({ payload }) => payload)).toEqual(
      expect.arrayContaining([7, 1, 2, 3, 4, 5]),
    )
  })
})

describe('a process that stops', () => {
  test('stops its jobs, waits for them and gives them back without counting the attempt', async () => {
    await using queue = await openQueue()
    const { db } = queue
    const begun = Promise.withResolvers<void>()
    let isEnded = false
    {
      await using _worker = await openWorker(queue.database, async (_, { signal }) => {
        begun.resolve()
        await new Promise(resolve => signal.addEventListener('abort', resolve))
        isEnded = true
        signal.throwIfAborted()
      })
      await queue.enqueue('a')
      await begun.promise
    }
    expect(isEnded).toBe(true)
    expect(await listJobs(db)).toMatchObject([{ attempts: 0, claimed_by: null }])
    const ran: string[] = []
    await using _other = await openWorker(queue.database, async word => void ran.push(word))
    await noneLeft(db)
    expect(ran).toEqual(['a'])
  })
})

test('a process whose lease lapsed stops its jobs and runs them again under the next lease, never in parallel', async () => {
  await using queue = await openQueue()
  const { db } = queue
  let runs = 0
  let running = 0
  let runningMax = 0
  await using _worker = await openWorker(queue.database, async (_, { signal }) => {
    runningMax = Math.max(runningMax, ++running)
    const isFirst = ++runs === 1
    if (isFirst) await new Promise(resolve => signal.addEventListener('abort', resolve))
    running--
    signal.throwIfAborted()
  })
  await queue.enqueue('a')
  await waitUntil('the first run', () => Promise.resolve(runs === 1))
  await sql`update instance set heartbeat_until = clock_timestamp() - interval '1 second'`.execute(db)
  await noneLeft(db)
  expect([runs, runningMax]).toEqual([2, 1])
})

test('a job that the table assigns to this process, but that it does not run, is claimed again', async () => {
  await using queue = await openQueue()
  const { db } = queue
  const ran: string[] = []
  await using worker = await openWorker(queue.database, async word => void ran.push(word))
  await inTransaction(db, queue.tenantId, async unit => {
    await enqueue(unit, note, [{ word: 'a' }])
    await sql`update job set claimed_by = ${worker.instance.lease!.id}`.execute(unit.sql)
  })
  await noneLeft(db)
  expect(ran).toEqual(['a'])
})

test.each([
  ['too many jobs', Array.from({ length: 101 }, () => ({ word: 'a' }))],
  ['a payload that is too long', [{ word: 'a'.repeat(65_536) }]],
])('%s cannot be enqueued', async (_, payloads) => {
  await using queue = await openQueue()
  const failing = inTransaction(queue.db, queue.tenantId, unit => enqueue(unit, note, payloads))
  await expect(failing).rejects.toThrow(RangeError)
})

test('a job waits while its tenant is suspended', async () => {
  await using queue = await openQueue()
  const { db } = queue
  const done: string[] = []
  const other = await sampleTenant(db)
  await sql`update tenant set suspended_at = now() where id = ${queue.tenantId}`.execute(db)
  await queue.enqueue('held')
  await inTransaction(db, other.id, unit => enqueue(unit, note, [{ word: 'other' }]))
  await using _worker = await openWorker(queue.database, word => Promise.resolve(void done.push(word)))
  await waitUntil('the job of the other tenant', () => Promise.resolve(done.length > 0))
  expect(done).toEqual(['other'])
  await sql`update tenant set suspended_at = null`.execute(db)
  await waitUntil('the job that waited', () => Promise.resolve(done.length > 1))
  expect(done).toEqual(['other', 'held'])
})
