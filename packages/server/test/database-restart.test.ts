import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openEmbedded } from '../src/database/embedded/embedded.ts'
import { openDatabase } from '../src/database/pool.ts'
import { silentLog } from '../src/kit/log.ts'
import { sampleAccount } from './sample-rows.ts'
import { makePreparedFolder } from './prepared-folder.ts'
import { startServiceProcess, until } from './service-process.ts'
import { waitUntil } from './wait-until.ts'

/** A stop that notifies clients, and one that does not. */
const SIGNALS = ['SIGINT', 'SIGKILL'] as const
const CALLERS = 4
/** Between two requests of a caller: the test needs a stream of requests and not a load. */
const PAUSE_MILLISECONDS = 20

test('while the database restarts, requests get 503 with Retry-After, and every write is done once', async () => {
  await using opened = new AsyncDisposableStack()
  const folder = opened.use(await makePreparedFolder())
  const service = opened.use(await startServiceProcess(folder, { env: { WAXWING_ROLES: 'api' } }))
  const inDatabase = async <T>(work: (db: ReturnType<typeof openDatabase>['db']) => Promise<T>) => {
    await using embedded = await openEmbedded({ dataDir: folder.path, as: 'command', log: silentLog })
    await using database = openDatabase({ address: embedded.address, applicationName: 'waxwing test' })
    return await work(database.db)
  }
  const accountId = await inDatabase(async db => {
    const { id: tenantId } = await db.selectFrom('tenant').select('id').executeTakeFirstOrThrow()
    return (await sampleAccount(db, tenantId)).id
  })
  const ask = (path: string, init: RequestInit = {}) =>
    fetch(`${service.address}/v1/accounts/${accountId}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${service.key}`, ...init.headers },
    })
  const statuses = new Set<number>()
  const over = new AbortController()
  let keys = 0

  async function read() {
    while (!over.signal.aborted) {
      const answer = await ask('/messages')
      statuses.add(answer.status)
      if (answer.status === 503) {
        expect(await answer.json()).toMatchObject({ defined: true, code: 'overloaded' })
        expect(Number(answer.headers.get('retry-after'))).toBeOneOf([1, 2, 3])
      } else {
        expect(answer.status).toBe(200)
        await answer.arrayBuffer()
      }
      await sleep(PAUSE_MILLISECONDS)
    }
  }
  /** Repeats each request until it is answered, as docs/limits.md advises. */
  async function write() {
    while (!over.signal.aborted) {
      keys += 1
      const headers = { 'content-type': 'application/json', 'idempotency-key': `key-${keys}` }
      const make = async () => {
        const answer = await ask('/tokens', { method: 'POST', body: '{}', headers })
        await answer.arrayBuffer()
        expect(answer.status).toBeOneOf([200, 409, 500, 503])
        return answer.status === 200
      }
      // A key whose request was lost is free again after 15 seconds.
      await waitUntil('the token', make)
      await sleep(PAUSE_MILLISECONDS)
    }
  }
  const callers = Promise.all(Array.from({ length: CALLERS }, () => Promise.all([read(), write()])))
  // A rejection is reported at the end, where the promise is awaited.
  callers.catch(() => {})
  for (const signal of SIGNALS) {
    await until(async () => (await ask('/messages')).status === 200, 'requests are served')
    statuses.clear()
    const server = await folder.findServer()
    process.kill(server!, signal)
    await until(() => statuses.has(503), `a request finds no database after ${signal}`)
  }
  await until(async () => (await ask('/messages')).status === 200, 'requests are served')
  over.abort()
  await callers

  const { rows } = await inDatabase(db =>
    sql<{ tokens: number }>`select count(*)::int as tokens from account_token`.execute(db),
  )
  expect(rows[0]?.tokens).toBe(keys)
})
