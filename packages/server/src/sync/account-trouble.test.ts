/** @module-tag postgres-16-in-soak */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { MemoryServer, memoryMail } from '../../test/memory-mail.ts'
import { openTestDatabase } from '../../test/open-database.ts'
import { sampleAccount } from '../../test/sample-rows.ts'
import { keepMail } from '../../test/keep-mail.ts'
import { waitUntil } from '../../test/wait-until.ts'
import { HostBudget } from '../connections/host-budget.ts'
import type { Db } from '../database/pool.ts'
import { reachedAs } from '../accounts/reach.ts'
import { findAccount } from '../accounts/store.ts'
import { createTenant } from '../features/tenancy/tenants/store.ts'
import { newId } from '../kit/ids.ts'
import { silentLog } from '../kit/log.ts'
import type { ConnectedAccount } from '../providers/connected-account.ts'
import { ProviderFailure } from '../providers/failure.ts'
import { openMailFollower } from '../features/mail/following/follower.ts'
import { type ClaimedAccount, claimAccounts, type OwnedAccount } from '../accounts/halves/ownership.ts'
import { Ramp } from './ramp.ts'

/** An account whose connection a test decides about. */
async function openFollowed() {
  await using opened = new AsyncDisposableStack()
  const { db } = opened.use(await openTestDatabase())
  const owned = await ownAccount(db)
  const follower = opened.use(await openMailFollower({ db, log: silentLog }))
  const server = new MemoryServer()
  server.create('INBOX')
  // A first pass that brings nothing is followed by a pause.
  server.deliver('INBOX', 'hello', new Date(1.7e12))
  const state: { connect: (version: string) => Promise<ConnectedAccount> } = {
    connect: async () => memoryMail(server),
  }
  const budget = new HostBudget(1)
  const findVersion = async () => {
    const account = await findAccount(db, owned.tenantId, owned.id)
    return account ? reachedAs(account).version : ''
  }
  const held = new AsyncDisposableStack()
  const start = () =>
    held.use(
      keepMail(owned, {
        db,
        connectorOf: () => async () => {
          const version = await findVersion()
          return {
            version,
            host: 'memory.test',
            syncWindowDays: null,
            isOneAtATime: true,
            acquire: signal => budget.acquire('memory.test', signal),
            connect: () => state.connect(version),
          }
        },
        ramp: new Ramp(),
        follower,
        log: silentLog,
        pollSeconds: 0.2,
        stallSeconds: 30,
        refusalSeconds: 600,
      }),
    )
  held.use(opened.move())
  return { db, owned, server, state, start, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

async function ownAccount(db: Db): Promise<ClaimedAccount> {
  const tenant = await createTenant(db, 'acme')
  if (!tenant) throw new Error('The tenant exists')
  const instanceId = newId()
  const heartbeat_until = new Date(Date.now() + 3_600_000)
  await db.insertInto('instance').values({ id: instanceId, heartbeat_until }).execute()
  await sampleAccount(db, tenant.id, { status: 'active' })
  const [owned] = await claimAccounts(db, instanceId, 1)
  if (!owned) throw new Error('Nothing to claim')
  return owned
}

const read = (db: Db, { id }: OwnedAccount) =>
  db
    .selectFrom('account')
    .innerJoin('account_half', 'account_half.account_id', 'account.id')
    .select(['status', 'status_reason', 'problem', 'runtime_state', 'closed_since'])
    .where('id', '=', id)
    .executeTakeFirstOrThrow()

const eventsOf = async (db: Db) =>
  (await db.selectFrom('event').select('type').orderBy('id').execute()).map(({ type }) => type)

test.each([
  ['misconfigured', 'invalid_client', 'invalid_client'],
  ['misconfigured', 'provider_not_configured', 'provider_not_configured'],
  ['misconfigured', 'oauth_app_secret_unreadable', 'oauth_app_secret_unreadable'],
  ['not_allowed', null, 'server_not_allowed'],
] as const)(
  'says of an active account that it is %s (%s), until it is reached again',
  async (kind, reason, shown) => {
    await using followed = await openFollowed()
    const { db, owned, server, state, start } = followed
    state.connect = () => Promise.reject(new ProviderFailure(kind, 'The setup.', reason ? { reason } : {}))
    const keeper = start()
    await waitUntil('the reason', async () => (await read(db, owned)).problem === shown)
    expect(await read(db, owned)).toMatchObject({ status: 'active' })
    state.connect = async () => memoryMail(server)
    keeper.find('mail')!.restart()
    await waitUntil('the account', async () => (await read(db, owned)).runtime_state === 'live')
    expect(await read(db, owned)).toMatchObject({ status: 'active', problem: null })
    expect((await eventsOf(db)).filter(type => type === 'account.updated')).toHaveLength(2)
  },
)

test.each(['provider_forbidden', 'provider_not_found'] as const)(
  'disables an account whose mailbox has been closed for a day: %s',
  async reason => {
    await using followed = await openFollowed()
    const { db, owned, server, state, start } = followed
    const closed = () => Promise.reject(new ProviderFailure('mailbox_gone', 'Closed.', { reason }))
    state.connect = closed
    const keeper = start()
    const isClosed = async () => (await read(db, owned)).closed_since !== null
    await waitUntil('the first sign', isClosed)
    expect(await read(db, owned)).toMatchObject({ status: 'active', status_reason: null })

    // One success in between begins the day again.
    await turnBack(db, 23)
    state.connect = async () => memoryMail(server)
    keeper.find('mail')!.restart()
    await waitUntil('the success', async () => !(await isClosed()))
    state.connect = closed
    keeper.find('mail')!.restart()
    await waitUntil('the next sign', isClosed)
    await turnBack(db, 25)
    keeper.find('mail')!.restart()
    await keeper.finished
    expect(await read(db, owned)).toMatchObject({ status: 'disabled', status_reason: reason })
    expect((await eventsOf(db)).at(-1)).toBe('account.updated')
    expect(await eventsOf(db)).not.toContain('account.reauth_required')
  },
)

test('does not blame a grant that was stored after the refused one was used', async () => {
  await using followed = await openFollowed()
  const { db, owned, server, state, start } = followed
  state.connect = async () => {
    // Somebody reconnects the account while the provider still thinks about the old grant.
    await sql`update account_half set stamp = stamp + 1 where account_id = ${owned.id}`.execute(db)
    state.connect = async () => memoryMail(server)
    throw new ProviderFailure('grant_refused', 'The old grant.')
  }
  start()
  await waitUntil('the account', async () => (await read(db, owned)).runtime_state === 'live')
  expect(await read(db, owned)).toMatchObject({ status: 'active', status_reason: null })
  expect(await eventsOf(db)).not.toContain('account.reauth_required')
})

async function turnBack(db: Db, hours: number): Promise<void> {
  await sql`update account_half set closed_since = closed_since - make_interval(hours => ${hours})`.execute(
    db,
  )
}
