import type { KyselyPlugin } from 'kysely'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { addHalf } from '../../test/halves.ts'
import { memoryFollower, ProvidedHalves } from '../../test/provided-halves.ts'
import { sampleAccount, sampleTenant } from '../../test/sample-rows.ts'
import { waitUntil } from '../../test/wait-until.ts'
import type { HalfKind } from '../accounts/halves/kind.ts'
import type { Db } from '../database/pool.ts'
import { openMailFollower } from '../features/mail/following/follower.ts'
import { silentLog } from '../kit/log.ts'
import { Instance } from '../processes/instance.ts'
import { Pulse } from '../processes/pulse.ts'
import { SyncEngine } from './engine.ts'
import type { Follower } from './follower.ts'

/** A process that follows the mail of one account and, by default, calendars. */
async function openProcess(
  others: (db: Db) => Follower[] = db => [memoryFollower(db, 'calendar')],
  { hasCalendar = false, reachedBy = (db: Db) => db } = {},
) {
  await using opened = new AsyncDisposableStack()
  const { db, address } = opened.use(await openTestDatabase())
  const tenant = await sampleTenant(db)
  const account = await sampleAccount(db, tenant.id)
  if (hasCalendar) await addHalf(db, account.id, 'calendar')
  const provided = new ProvidedHalves()
  const facts = { roles: ['sync'], host: 'test', version: '0.0.0' }
  const instance = opened.use(await Instance.start({ address, log: silentLog, facts, isAlone: false }))
  const engine = opened.use(
    await SyncEngine.start({
      db: reachedBy(db),
      instance,
      pulse: opened.use(new Pulse(db, silentLog, 0.1)),
      connectorOf: provided.connectorOf,
      followers: [opened.use(openMailFollower({ db, log: silentLog })), ...others(db)],
      log: silentLog,
      pollSeconds: 0.2,
    }),
  )
  const read = (kind: HalfKind) =>
    db
      .selectFrom('account_half')
      .select(['runtime_state', 'sync_wanted', 'look', 'owner_instance', 'owner_epoch'])
      .where('kind', '=', kind)
      .executeTakeFirstOrThrow()
  const awaitLive = (kind: HalfKind) =>
    waitUntil(`${kind} to be live`, async () => (await read(kind)).runtime_state === 'live')
  await awaitLive('mail')
  const owned = opened.move()
  return {
    db,
    account,
    engine,
    read,
    awaitLive,
    provided: (kind: HalfKind) => provided.of(account.id, kind),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

test('a half that is added while its account is followed gets a runner, and mail keeps its connection', async () => {
  await using process = await openProcess()
  const { db, account, read, awaitLive, provided } = process
  await addHalf(db, account.id, 'calendar')
  await awaitLive('calendar')
  expect((await read('calendar')).sync_wanted).toEqual([])
  expect([provided('mail').opened, provided('calendar').opened]).toEqual([1, 1])
  expect((await read('mail')).owner_epoch).toBe('1')
})

test('a half that is removed ends this ownership of its account, which is claimed again without it', async () => {
  await using process = await openProcess()
  const { db, account, read, awaitLive, provided } = process
  await addHalf(db, account.id, 'calendar')
  await awaitLive('calendar')
  await db.deleteFrom('account_half').where('kind', '=', 'calendar').execute()
  await waitUntil('the next ownership', async () => (await read('mail')).owner_epoch === '2')
  await awaitLive('mail')
  expect(provided('calendar').open).toBe(0)
})

test('an account is released when the runners of all its halves have ended, and not before', async () => {
  const ended = Promise.withResolvers<void>()
  await using process = await openProcess(db => [memoryFollower(db, 'calendar', () => ended.promise)])
  const { db, account, engine, read, awaitLive, provided } = process
  await addHalf(db, account.id, 'calendar')
  await awaitLive('calendar')
  const stopped = engine[Symbol.asyncDispose]()
  await waitUntil('both connections to end', () =>
    Promise.resolve(provided('mail').open === 0 && provided('calendar').open === 0),
  )
  const owners = async () => [(await read('mail')).owner_instance, (await read('calendar')).owner_instance]
  expect(await owners()).not.toContain(null)
  ended.resolve()
  await stopped
  expect(await owners()).toEqual([null, null])
})

test.each([true, false])(
  'a half of a kind that this process does not follow is left alone (claimed: %s)',
  async hasCalendar => {
    await using process = await openProcess(() => [], { hasCalendar })
    const { db, account, read, provided } = process
    if (!hasCalendar) await addHalf(db, account.id, 'calendar')
    const { reads } = provided('mail')
    await waitUntil('some passes of mail', () => Promise.resolve(provided('mail').reads > reads + 10))
    // A claim takes all wants.
    const wanted = hasCalendar ? [] : ['restart']
    expect(await read('calendar')).toMatchObject({ sync_wanted: wanted, look: '0' })
    expect(provided('calendar').opened).toBe(0)
  },
)

test('a restart is not lost with the answer to the statement that takes it', async () => {
  let lost = 0
  const losesOneRestart: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      const [row] = result.rows as { wanted?: unknown }[]
      if (lost === 0 && Array.isArray(row?.wanted) && row.wanted.includes('restart')) {
        lost += 1
        throw new Error('The connection was lost.')
      }
      return result
    },
  }
  const reachedBy = (db: Db) => db.withPlugin(losesOneRestart)
  await using process = await openProcess(() => [], { reachedBy })
  const { db, account, engine, provided } = process
  await db
    .updateTable('account_half')
    .set({ sync_wanted: ['restart'] })
    .where('account_id', '=', account.id)
    .execute()
  engine.wake([account.id])
  await waitUntil('the answer to be lost', () => Promise.resolve(lost === 1))
  await waitUntil('another connection', () => Promise.resolve(provided('mail').opened === 2))
})

test('the start refuses two followers of one kind', async () => {
  const start = openProcess(db => [memoryFollower(db, 'calendar'), memoryFollower(db, 'calendar')])
  await expect(start).rejects.toThrow('Two followers are of the kind calendar; a half has one')
})
