import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { listUsageDays } from '../src/features/tenancy/usage/store.ts'
import { callerOf } from './caller.ts'
import { makeExternalDatabase } from './external-database.ts'
import { makeTaskDue } from './make-task-due.ts'
import { makeDataFolder, startServiceProcess } from './service-process.ts'
import { waitUntil } from './wait-until.ts'

const IN_FLIGHT = 8

/** Starts two processes of one installation. */
async function openProcesses() {
  await using opened = new AsyncDisposableStack()
  const { url, database } = opened.use(await makeExternalDatabase({ migrated: true }))
  const folder = opened.use(await makeDataFolder())
  const env = {
    DATABASE_URL: url,
    WAXWING_SECRET_KEY: randomBytes(32).toString('base64'),
    WAXWING_ROLES: 'api,jobs',
  }
  const first = opened.use(await startServiceProcess(folder, { env }))
  const second = opened.use(await startServiceProcess(folder, { env }))
  const { db, pool } = database
  const { id: tenantId } = await db.selectFrom('tenant').select('id').executeTakeFirstOrThrow()
  const owned = opened.move()
  return {
    db,
    pool,
    tenantId,
    first,
    second,
    key: first.key,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

test('processes count calls together; a killed process loses at most the calls that it had not written, and none counts twice', async () => {
  await using processes = await openProcesses()
  const { db, pool, tenantId, first, second, key } = processes
  const [one, two] = [callerOf(first.address, key), callerOf(second.address, key)]
  const call = async (caller: typeof one, count: number) => {
    for (let done = 0; done < count; done += IN_FLIGHT)
      await Promise.all(
        Array.from({ length: Math.min(IN_FLIGHT, count - done) }, async () => {
          expect((await caller.get('/v1/accounts')).status).toBe(200)
        }),
      )
  }
  const counted = async () => {
    const days = await listUsageDays(db, tenantId, { from: '2020-01-01', to: '2100-01-01' })
    return days.reduce((total, { read }) => total + read, 0)
  }

  await Promise.all([call(one, 40), call(two, 60)])
  await waitUntil('both to write what they counted', async () => (await counted()) === 100)
  await makeTaskDue(pool, 'fold_usage')
  const isFolded = async () => (await db.selectFrom('usage_count').select('day').execute()).length === 0
  await waitUntil('the counts to be added to their day', isFolded)
  expect(await counted()).toBe(100)

  await call(one, 30)
  first.kill('SIGKILL')
  await first.ended
  await call(two, 50)
  second.kill('SIGTERM')
  await second.ended
  const total = await counted()
  expect(total).toBeGreaterThanOrEqual(150)
  expect(total).toBeLessThanOrEqual(180)
})
