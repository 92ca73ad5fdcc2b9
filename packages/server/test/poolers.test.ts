import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { expect, inject, test } from 'vitest'
import { callerOf } from './caller.ts'
import { makeExternalDatabase } from './external-database.ts'
import { startPgBouncer } from './servers/pgbouncer.ts'
import { makeDataFolder, runWaxwing, startServiceProcess } from './service-process.ts'
import { waitUntil } from './wait-until.ts'

const ROUNDS = 5
const CALLERS = 16

/** An empty database of the test run behind a pooler. */
async function openPooled(settings: Record<string, string>) {
  await using opened = new AsyncDisposableStack()
  const { database } = opened.use(await makeExternalDatabase())
  const folder = opened.use(await makeDataFolder())
  const pooler = opened.use(await startPgBouncer(inject('postgres'), settings))
  const name = 'database' in database.address ? database.address.database : ''
  const env = {
    DATABASE_URL: pooler.url(name),
    WAXWING_SECRET_KEY: randomBytes(32).toString('base64'),
    WAXWING_DATA_DIR: folder.path,
  }
  const owned = opened.move()
  return { db: database.db, folder, env, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

test('the service works behind PgBouncer in session mode', async () => {
  await using pooled = await openPooled({ pool_mode: 'session' })
  const { db, folder, env } = pooled
  await using service = await startServiceProcess(folder, { env })
  const caller = callerOf(service.address, service.key)
  for (let round = 0; round < ROUNDS; round++) {
    const answers = await Promise.all(Array.from({ length: CALLERS }, () => caller.get('/v1/accounts')))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  }
  expect((await caller.patch('/v1/settings', { syncWindowDays: 17 })).status).toBe(200)
  await waitUntil('it to listen', async () => {
    const { rows } = await sql`
      select from pg_stat_activity where application_name = 'waxwing listen' and datname = current_database()
    `.execute(db)
    return rows.length === 1
  })
  expect((await runWaxwing(['doctor'], { env })).stdout).not.toContain('pooler')
  service.kill('SIGTERM')
  expect((await service.ended).code).toBe(0)
  expect(service.output()).not.toContain('"level":"error"')
})

test('a pooler that gives each transaction another session is refused, with what to do', async () => {
  await using pooled = await openPooled({ pool_mode: 'transaction' })
  const { folder, env } = pooled
  await expect(startServiceProcess(folder, { env })).rejects.toThrow(
    'Set pool_mode = session in pgbouncer.ini for this database',
  )
  const { stdout, code } = await runWaxwing(['doctor'], { env })
  expect(stdout).toMatch(
    /wrong +database +The pooler before the database gives each transaction another session/,
  )
  expect(code).toBe(1)
})
