import { type Kysely, sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { MemoryServer, memoryMail } from '../../test/memory-mail.ts'
import { openTestDatabase } from '../../test/open-database.ts'
import { sampleAccount, sampleTenant } from '../../test/sample-rows.ts'
import { waitUntil } from '../../test/wait-until.ts'
import type { Tables } from '../database/tables.ts'
import { newId } from '../kit/ids.ts'
import { silentLog } from '../kit/log.ts'
import { Instance } from '../jobs/instance.ts'
import { SyncEngine } from './engine.ts'
import { HostBudget } from '../connections/host-budget.ts'
import { openMailFollower } from './mail/follower.ts'

/** A process that follows one account of a memory server, with a short lease. */
async function openEngine() {
  await using opened = new AsyncDisposableStack()
  const database = opened.use(await openTestDatabase())
  const { db, address } = database
  const tenant = await sampleTenant(db)
  const account = await sampleAccount(db, tenant.id, { initialized_at: null })
  const server = new MemoryServer()
  server.create('INBOX', 'inbox')
  const connections = { open: 0 }
  const budget = new HostBudget(10)
  const instance = opened.use(
    await Instance.start({
      address,
      log: silentLog,
      facts: { roles: ['sync'], host: 'test', version: '0.0.0' },
      isAlone: false,
      pace: { leaseSeconds: 3, heartbeatSeconds: 0.2, answerSeconds: 1, fenceSeconds: 2 },
    }),
  )
  const follower = opened.use(openMailFollower({ db, log: silentLog, onMail: () => undefined }))
  const engine = opened.use(
    await SyncEngine.start({
      db,
      instance,
      connectorOf: () => () =>
        Promise.resolve({
          host: 'memory.test',
          syncWindowDays: null,
          isOneAtATime: true,
          acquire: signal => budget.acquire('memory.test', signal),
          async connect() {
            connections.open++
            const mail = memoryMail(server)
            return {
              ...mail,
              async [Symbol.asyncDispose]() {
                connections.open--
                await mail[Symbol.asyncDispose]()
              },
            }
          },
        }),
      follower,
      log: silentLog,
      pollSeconds: 0.2,
    }),
  )
  const read = () =>
    db
      .selectFrom('account')
      .select(['owner_instance', 'owner_epoch', 'runtime_state'])
      .where('id', '=', account.id)
      .executeTakeFirstOrThrow()
  const liveAgain = (epoch: string) =>
    waitUntil('the account to be followed again', async () => {
      const now = await read()
      return BigInt(now.owner_epoch) >= BigInt(epoch) && now.runtime_state === 'live' && now
    })
  await liveAgain('1')
  const owned = opened.move()
  return { db, engine, connections, read, liveAgain, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

async function addInstance(db: Kysely<Tables>): Promise<string> {
  const id = newId()
  const until = sql<Date>`clock_timestamp() + interval '30 seconds'`
  await db.insertInto('instance').values({ id, heartbeat_until: until }).execute()
  return id
}

describe('an active account that nobody follows is claimed again', () => {
  test('when the answer to its claim was lost', async () => {
    await using process = await openEngine()
    const { db, engine, connections, liveAgain } = process
    // As claimed once more by this process, which does not know of it.
    await sql`update account set owner_epoch = owner_epoch + 1`.execute(db)
    await liveAgain('3')
    await waitUntil('one connection', () =>
      Promise.resolve(connections.open === 1 && engine.accountCount === 1),
    )
  })

  test('when somebody took its owner away', async () => {
    await using process = await openEngine()
    await sql`update account set owner_instance = null, runtime_state = 'stopped'`.execute(process.db)
    await process.liveAgain('2')
    await waitUntil('one connection', () => Promise.resolve(process.connections.open === 1))
  })

  test('when the lease ran out by the clock of the database, under another id', async () => {
    await using process = await openEngine()
    const { db, read, liveAgain } = process
    const { owner_instance: before } = await read()
    await sql`update instance set heartbeat_until = clock_timestamp() - interval '1 second'`.execute(db)
    expect((await liveAgain('2')).owner_instance).not.toBe(before)
    const { rows } = await sql<{ dead: boolean }>`
      select heartbeat_until < clock_timestamp() as dead from instance where id = ${before}
    `.execute(db)
    expect(rows).toEqual([{ dead: true }])
  })

  test('when the row of its owner is gone', async () => {
    await using process = await openEngine()
    await sql`delete from instance`.execute(process.db)
    await process.liveAgain('2')
  })
})

test('an account that another process took over is let go by the next pass, even where nothing changes', async () => {
  await using process = await openEngine()
  const { db, engine, connections, read } = process
  const other = await addInstance(db)
  await sql`update account set owner_instance = ${other}, owner_epoch = owner_epoch + 1`.execute(db)
  await waitUntil('the connection to end', () => Promise.resolve(connections.open === 0))
  await waitUntil('the account to be let go', () => Promise.resolve(engine.accountCount === 0))
  expect((await read()).owner_instance).toBe(other)
})

test('the engine has a problem for as long as it cannot get a lease', async () => {
  await using process = await openEngine()
  const { db, engine, connections, liveAgain } = process
  await sql`alter table instance rename to hidden`.execute(db)
  await waitUntil('the lease to lapse', () =>
    Promise.resolve(engine.problem === 'it has no lease to follow accounts with'),
  )
  await waitUntil('the connection to end', () => Promise.resolve(connections.open === 0))
  await sql`alter table hidden rename to instance`.execute(db)
  await liveAgain('2')
  await waitUntil('no problem', () => Promise.resolve(engine.problem === null))
})
