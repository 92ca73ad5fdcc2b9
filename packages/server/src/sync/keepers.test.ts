import { expect, test } from 'vitest'
import { MemoryServer, memoryMail } from '../../test/memory-mail.ts'
import { openTestDatabase } from '../../test/open-database.ts'
import { sampleAccount, sampleTenant } from '../../test/sample-rows.ts'
import { waitUntil } from '../../test/wait-until.ts'
import { HostBudget } from '../connections/host-budget.ts'
import { pause } from '../processes/nudge.ts'
import { newId } from '../kit/ids.ts'
import { silentLog } from '../kit/log.ts'
import type { MailProvider } from '../providers/mail.ts'
import { Keepers } from './keepers.ts'
import { openMailFollower } from '../features/mail/following/follower.ts'
import { claimAccounts } from '../accounts/halves/ownership.ts'
import { Ramp } from './ramp.ts'
import { followKinds } from './followed-kinds.ts'

/** Waits, as a quiet server would let it. */
const watch: MailProvider['watch'] = async (_, seconds, signal) => {
  await pause(seconds * 1_000, signal)
  return { arrived: false, changed: false, gone: false }
}

/** The keepers of a process that follows accounts of one memory server, which this test holds up. */
async function openKeepers(accounts: number) {
  await using opened = new AsyncDisposableStack()
  const { db } = opened.use(await openTestDatabase())
  const tenant = await sampleTenant(db)
  for (let nth = 0; nth < accounts; nth++) await sampleAccount(db, tenant.id, { initialized_at: null })
  const instanceId = newId()
  const heartbeat_until = new Date(Date.now() + 600_000)
  await db.insertInto('instance').values({ id: instanceId, heartbeat_until }).execute()
  const server = new MemoryServer()
  server.create('INBOX', 'inbox')
  // Without any message, a first sync takes seconds.
  server.deliver('INBOX', 'first', new Date(1.6e12))
  const budget = new HostBudget(accounts)
  const connections = { cut: 0 }
  const follower = opened.use(openMailFollower({ db, log: silentLog }))
  const keepers = opened.use(
    new Keepers(
      {
        db,
        connectorOf: () => async () => ({
          version: '1',
          host: 'memory.test',
          syncWindowDays: null,
          isOneAtATime: true,
          acquire: signal => budget.acquire('memory.test', signal),
          async connect(signal) {
            signal.addEventListener('abort', () => connections.cut++)
            const mail = memoryMail(server)
            return { ...mail, mail: { ...mail.mail, watch } }
          },
        }),
        ramp: new Ramp(),
        kinds: followKinds([follower]),
        log: silentLog,
        pollSeconds: 0.2,
        stallSeconds: 60,
        refusalSeconds: 600,
      },
      () => {},
    ),
  )
  const lease = new AbortController()
  for (const claimed of await claimAccounts(db, instanceId, accounts)) keepers.keep(claimed, lease.signal)
  const countOwned = async () => {
    const rows = await db
      .selectFrom('account')
      .select('id')
      .where('owner_instance', '=', instanceId)
      .execute()
    return rows.length
  }
  const areLive = async () => {
    const rows = await db.selectFrom('account_half').select('runtime_state').execute()
    return rows.every(({ runtime_state }) => runtime_state === 'live')
  }
  await waitUntil('all to be live', areLive)
  const owned = opened.move()
  return {
    db,
    server,
    budget,
    connections,
    keepers,
    countOwned,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

test('an account leaves when its pass is done, and its connection is not cut before', async () => {
  await using process = await openKeepers(1)
  const { db, server, budget, connections, keepers, countOwned } = process
  const held = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  server.deliver('INBOX', 'on the way', new Date(1.7e12))
  server.onAwait = () => {
    held.resolve()
    return released.promise
  }
  await held.promise
  keepers.release(1, 1)
  expect(keepers.load).toEqual({ accounts: 0, weight: 0 })
  expect(keepers.leaving).toEqual({ accounts: 1, weight: 1 })
  expect(await countOwned()).toBe(1)
  released.resolve()
  await waitUntil('the account to have left', async () => (await countOwned()) === 0)
  await waitUntil('its keeper to end', () => Promise.resolve(keepers.count === 0))
  expect(connections.cut).toBe(0)
  expect(budget.heldCount).toBe(0)
  const messages = await db.selectFrom('message').select('subject').orderBy('received_at').execute()
  expect(messages.map(({ subject }) => subject)).toEqual(['first', 'on the way'])
})

test('no more accounts are leaving at a time than asked for', async () => {
  await using process = await openKeepers(4)
  const { server, keepers, countOwned } = process
  const released = Promise.withResolvers<void>()
  server.onAwait = () => released.promise
  keepers.release(2, 2)
  keepers.release(2, 2)
  expect([keepers.load.accounts, keepers.leaving.accounts]).toEqual([2, 2])
  released.resolve()
  await waitUntil('both to have left', async () => (await countOwned()) === 2)
})
