import { type Kysely, sql } from 'kysely'
import { describe, expect, test, vi } from 'vitest'
import { MemoryServer, memoryMail } from '../../test/memory-mail.ts'
import { openTestDatabase } from '../../test/open-database.ts'
import { sampleAccount, sampleTenant } from '../../test/sample-rows.ts'
import { waitUntil } from '../../test/wait-until.ts'
import type { Tables } from '../database/tables.ts'
import { newId } from '../kit/ids.ts'
import { openLog, silentLog } from '../kit/log.ts'
import { Instance } from '../processes/instance.ts'
import { pause } from '../processes/nudge.ts'
import { Pulse, type Question } from '../processes/pulse.ts'
import type { MailProvider } from '../providers/mail.ts'
import { SyncEngine } from './engine.ts'
import { HostBudget } from '../connections/host-budget.ts'
import { openMailFollower } from '../features/mail/following/follower.ts'
import { matchHalves } from '../../test/halves.ts'

/** A quick pulse that counts its beats, and how often it wakes somebody. */
class CountedPulse extends Pulse {
  beats = 0
  wakes = 0

  constructor(db: Kysely<Tables>) {
    super(db, silentLog, 0.1)
    super.ask({ isDue: () => sql<boolean>`true`, onDue: () => void this.beats++ })
  }

  override ask(question: Question): Disposable {
    const onDue = () => {
      this.wakes++
      question.onDue()
    }
    return super.ask({ isDue: () => question.isDue(), onDue })
  }
}

/** Each test has an engine and a database of its own, and waits for most of its time, so all of them wait at once. */
vi.setConfig({ maxConcurrency: 20 })

const QUICK_SHARE = { checkSeconds: 1, stepSeconds: 1, settleSeconds: 1 }

/** A process that follows accounts of a memory server, with a quick heartbeat. What is read is the first of them. */
async function openEngine({ pollSeconds = 0.2, accounts = 1, share = QUICK_SHARE } = {}) {
  await using opened = new AsyncDisposableStack()
  const database = opened.use(await openTestDatabase())
  const { db, address } = database
  const tenant = await sampleTenant(db)
  const account = await sampleAccount(db, tenant.id, { initialized_at: null })
  for (let number = 1; number < accounts; number++) await sampleAccount(db, tenant.id)
  const server = new MemoryServer()
  server.create('INBOX', 'inbox')
  const connections = { open: 0 }
  const watching = Promise.withResolvers<void>()
  const watch: MailProvider['watch'] = async (_, seconds, signal) => {
    watching.resolve()
    await pause(seconds * 1_000, signal)
    return { arrived: false, changed: false, gone: false }
  }
  const budget = new HostBudget(Math.max(10, accounts))
  const logLines: string[] = []
  const instance = opened.use(
    await Instance.start({
      address,
      log: silentLog,
      facts: { roles: ['sync'], host: 'test', version: '0.0.0' },
      isAlone: false,
      pace: { leaseSeconds: 10, heartbeatSeconds: 0.2, answerSeconds: 3, fenceSeconds: 7 },
    }),
  )
  const pulse = opened.use(new CountedPulse(db))
  const follower = opened.use(openMailFollower({ db, log: silentLog }))
  const engine = opened.use(
    await SyncEngine.start({
      db,
      instance,
      pulse,
      connectorOf: () => () =>
        Promise.resolve({
          version: '1',
          host: 'memory.test',
          syncWindowDays: null,
          isOneAtATime: true,
          acquire: signal => budget.acquire('memory.test', signal),
          async connect() {
            connections.open++
            const mail = memoryMail(server)
            return {
              ...mail,
              mail: { ...mail.mail, watch },
              async [Symbol.asyncDispose]() {
                connections.open--
                await mail[Symbol.asyncDispose]()
              },
            }
          },
        }),
      followers: [follower],
      log: openLog({
        level: 'info',
        format: 'json',
        destination: { write: line => void logLines.push(line) },
      }),
      pollSeconds,
      share,
    }),
  )
  const read = () =>
    db
      .selectFrom('account')
      .innerJoin('account_half', 'account_half.account_id', 'account.id')
      .select(['account.owner_instance', 'account.owner_epoch', 'runtime_state'])
      .where('id', '=', account.id)
      .executeTakeFirstOrThrow()
  const liveAgain = (epoch: string) =>
    waitUntil('the account to be followed again', async () => {
      const now = await read()
      return BigInt(now.owner_epoch) >= BigInt(epoch) && now.runtime_state === 'live' && now
    })
  await liveAgain('1')
  const owned = opened.move()
  return {
    db,
    server,
    pulse,
    engine,
    connections,
    logLines,
    /** Resolves when a pass is done and the next one is waited for. */
    watching: watching.promise,
    read,
    liveAgain,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** @param weight of what it follows; null: it follows none, and wants none */
async function addInstance(db: Kysely<Tables>, weight: number | null = null): Promise<string> {
  const id = newId()
  const until = sql<Date>`clock_timestamp() + interval '50 seconds'`
  await db.insertInto('instance').values({ id, heartbeat_until: until, weight }).execute()
  return id
}

describe.concurrent('an active account that nobody follows is claimed again', () => {
  test('when the answer to its claim was lost', async () => {
    await using process = await openEngine()
    const { db, engine, connections, liveAgain } = process
    // As claimed once more by this process, which does not know of it.
    await sql`update account set owner_epoch = owner_epoch + 1`.execute(db)
    await matchHalves(db)
    await liveAgain('3')
    await waitUntil('one connection', () =>
      Promise.resolve(connections.open === 1 && engine.accountCount === 1),
    )
  })

  test('when somebody took its owner away', async () => {
    await using process = await openEngine()
    await sql`update account set owner_instance = null`.execute(process.db)
    await sql`update account_half set owner_instance = null, runtime_state = 'stopped'`.execute(process.db)
    await process.liveAgain('2')
    await waitUntil('one connection', () => Promise.resolve(process.connections.open === 1))
  })

  test('when the lease ran out by the clock of the database, under another id', async () => {
    await using process = await openEngine()
    const { db, read, liveAgain } = process
    const { owner_instance: before } = await read()
    await sql`update instance set heartbeat_until = clock_timestamp() - interval '1 second'`.execute(db)
    expect((await liveAgain('2')).owner_instance).not.toBe(before)
    // Its row may be gone already, as nothing refers to it any more.
    const { rows } = await sql`
      select from instance where id = ${before} and heartbeat_until >= clock_timestamp()
    `.execute(db)
    expect(rows).toEqual([])
  })

  test('when the row of its owner is gone', async () => {
    await using process = await openEngine()
    await sql`delete from instance`.execute(process.db)
    await process.liveAgain('2')
  })
})

test.concurrent.each([
  ['by the next pass, even where nothing changes', 0.2],
  ['within seconds, though no pass is due', 600],
])('an account that another process took over is let go %s', async (_, pollSeconds) => {
  await using process = await openEngine({ pollSeconds })
  const { db, engine, connections, watching, read } = process
  await watching
  const other = await addInstance(db)
  await sql`update account set owner_instance = ${other}, owner_epoch = owner_epoch + 1`.execute(db)
  await matchHalves(db)
  await waitUntil('the connection to end', () => Promise.resolve(connections.open === 0))
  await waitUntil('the account to be let go', () => Promise.resolve(engine.accountCount === 0))
  expect((await read()).owner_instance).toBe(other)
})

test.concurrent('the engine has a problem for as long as it cannot get a lease', async () => {
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

test.concurrent('an account that cannot be looked at yet is asked for once, and hears what is pushed meanwhile', async () => {
  await using process = await openEngine()
  const { db, server, pulse } = process
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: held, resolve: onHeld } = Promise.withResolvers<void>()
  server.onAwait = () => {
    onHeld()
    return released
  }
  await held
  const ask = (kinds: string[]) => db.updateTable('account_half').set({ sync_wanted: kinds }).execute()
  const areWanted = (kinds: string[]) =>
    waitUntil(`${kinds.join()} to be wanted`, async () => {
      const { sync_wanted: wanted } = await db
        .selectFrom('account_half')
        .select('sync_wanted')
        .executeTakeFirstOrThrow()
      return wanted.join() === kinds.join()
    })
  const beat = async (times: number) => {
    const until = pulse.beats + times
    await waitUntil('the pulse', () => Promise.resolve(pulse.beats >= until))
  }
  const wakes = pulse.wakes
  await ask(['mail'])
  await waitUntil('the account to be asked for', () => Promise.resolve(pulse.wakes > wakes))
  // Pulses that came before the engine had looked may have woken it, too.
  await waitUntil('six pulses that wake nobody', async () => {
    const before = pulse.wakes
    await beat(6)
    return pulse.wakes === before
  })
  await ask(['mail', 'notice'])
  await areWanted(['mail'])
  await beat(2)
  await areWanted(['mail'])
  release()
  await areWanted([])
})

test.concurrent('however often it is woken for accounts of others, it lets some of its own leave once in a step', async () => {
  const accounts = 20
  await using process = await openEngine({
    accounts,
    share: { checkSeconds: 0.2, stepSeconds: 600, settleSeconds: 0 },
  })
  const { db, pulse, engine } = process
  await waitUntil('all to be followed', () => Promise.resolve(engine.accountCount === accounts))
  const other = await addInstance(db, 0)
  /** The other process takes the accounts that were released, and a wake names an account of its own. */
  const wake = async () => {
    await sql`
      update account set owner_instance = ${other}, owner_epoch = owner_epoch + 1 where owner_instance is null
    `.execute(db)
    await matchHalves(db)
    engine.wake([newId()])
  }
  await waitUntil('the first to leave', async () => {
    await wake()
    return engine.accountCount < accounts
  })
  const until = pulse.beats + 15
  await waitUntil('many wakes', async () => {
    await wake()
    return pulse.beats >= until
  })
  expect(engine.accountCount).toBe(accounts - 1)
})

test.concurrent('what the others leave unclaimed is claimed after a while, and then all of it at once', async () => {
  await using process = await openEngine()
  const { db, engine, logLines } = process
  const { tenant_id: tenantId } = await db.selectFrom('account').select('tenant_id').executeTakeFirstOrThrow()
  await addInstance(db, 0)
  // More than are claimed at a time, besides those of its own share. The others are given their time for all of them once.
  const added = 120
  await db.transaction().execute(async transaction => {
    for (let number = 0; number < added; number++) await sampleAccount(transaction, tenantId)
  })
  await waitUntil('all to be followed', () => Promise.resolve(engine.accountCount === 1 + added))
  const waits = logLines.filter(line => line.includes('Other processes do not claim their accounts'))
  expect(waits).toHaveLength(1)
})
