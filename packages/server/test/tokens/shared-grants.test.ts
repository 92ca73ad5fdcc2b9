import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { recordRefused } from '../../src/accounts/grants/record-refused.ts'
import { spreadGrants } from '../../src/accounts/grants/spread.ts'
import { findGrant } from '../../src/accounts/grants/store.ts'
import { PAGE_ACCOUNTS } from '../../src/accounts/shared/lock.ts'
import { recordReauthRequired } from '../../src/accounts/record-reauth.ts'
import { lockAccount } from '../../src/accounts/store.ts'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import { followDelegateHandler } from '../../src/features/accounts/shared-mailboxes/follow-delegate-job.ts'
import { startWaitingProcess } from '../waiting-process.ts'
import type { CallingProcessOptions } from './calling-process.ts'
import { grantOf } from './granted-account.ts'
import { failureOf, useTokenWorlds } from './open-token-world.ts'
import { countEvents, insertShared, statusesOf } from './shared-mailboxes.ts'

const { openWorld: open } = useTokenWorlds()
const NEVER = new AbortController().signal
const LOST = 'reauth_required delegate_reauth_required'
const repeat = <T>(value: T, count: number) => Array.from({ length: count }, () => value)

async function openWorld(count: number) {
  const world = await open()
  const { db } = world.database
  const ids = await insertShared(db, world.account, count)
  const delegateAccountId = world.account.id
  const shared = ids.map(id => ({ id, tenantId: world.account.tenantId, delegateAccountId }))
  const grant = async () => (await findGrant(db, world.account))!
  return {
    ...world,
    db,
    ids,
    shared,
    grant,
    statuses: () => statusesOf(db, delegateAccountId),
    events: (type: string) => countEvents(db, ids, type),
    refuse: async () => recordRefused(db, world.account, await grant()),
    spread: () => spreadGrants(db, () => {}, NEVER),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

/** Asks for tokens of a delegate and its shared mailboxes in three processes at once. */
async function askInProcesses(world: Awaited<ReturnType<typeof openWorld>>): Promise<string[]> {
  const { endpoint, account, shared, database, secretKey } = world
  const options = { address: database.address, secretKey, origin: endpoint.origin.href, account, shared }
  await using processes = new AsyncDisposableStack()
  const started = await Promise.all(
    [17, 17, 16].map(async callers => {
      const program = new URL('calling-process.ts', import.meta.url)
      const given: CallingProcessOptions = { ...options, callers }
      return processes.use(await startWaitingProcess<string[]>(program, given))
    }),
  )
  return (await Promise.all(started.map(each => each.go()))).flatMap(each => each ?? [])
}

test('refreshes once for fifty callers of a delegate and twenty shared mailboxes in three processes', async () => {
  await using world = await openWorld(20)
  await world.turn(61)
  const tokens = await askInProcesses(world)
  expect(tokens).toHaveLength(50)
  expect(new Set(tokens).size).toBe(1)
  expect(tokens[0]).toMatch(/^[0-9a-f]{64}$/)
  expect(world.endpoint.calls).toBe(1)
  expect(await world.statuses()).toEqual(repeat('active', 20))
})

test('announces a refused grant once for each account, whichever processes ask, and brings all back with a new one', async () => {
  await using world = await openWorld(20)
  const { endpoint, account } = world
  await world.turn(61)
  endpoint.answer = () => ({ status: 400, body: { error: 'invalid_grant' } })
  expect(new Set(await askInProcesses(world))).toEqual(new Set(['grant_refused']))
  expect(await world.status()).toEqual({ status: 'reauth_required', status_reason: 'invalid_grant' })
  expect(await world.statuses()).toEqual(repeat(LOST, 20))
  expect(await world.events('account.reauth_required')).toEqual(repeat(1, 20))
  expect(await countEvents(world.db, [account.id], 'account.reauth_required')).toEqual([1])

  endpoint.answer = null
  await world.reconnect(account.id, grantOf(endpoint.grant()))
  expect(await world.status()).toEqual({ status: 'active', status_reason: null })
  expect(await world.statuses()).toEqual(repeat('active', 20))
  expect(await world.events('account.connected')).toEqual(repeat(1, 20))
  expect(await world.events('account.updated')).toEqual(repeat(1, 20))
  const { rows } = await sql<{ wanted: string[] }>`
    select sync_wanted as wanted from account_half where account_id = any(${world.ids}::uuid[])`.execute(
    world.db,
  )
  expect(rows).toEqual(repeat({ wanted: ['restart'] }, 20))
  await Promise.all(world.shared.map(each => world.tokensOf(each).get()))
})

test('reaches every shared mailbox of a refused grant once, though a process dies between two pages', async () => {
  await using world = await openWorld(2 * PAGE_ACCOUNTS + 50)
  await world.refuse()
  const lost = async () => (await world.statuses()).filter(status => status === LOST).length
  expect(await lost()).toBe(PAGE_ACCOUNTS)
  const { address } = world.database
  await using dying = await startWaitingProcess(new URL('spreading-process.ts', import.meta.url), { address })
  expect(await dying.go()).toBeNull()
  expect(await lost()).toBe(2 * PAGE_ACCOUNTS)
  await world.spread()
  expect(await lost()).toBe(2 * PAGE_ACCOUNTS + 50)
  expect(new Set(await world.events('account.reauth_required'))).toEqual(new Set([1]))
  const { rows } = await sql`select from oauth_grant where spread_after is not null`.execute(world.db)
  expect(rows).toEqual([])
})

test('brings every shared mailbox back, those behind the first page in a job', async () => {
  await using world = await openWorld(PAGE_ACCOUNTS + 5)
  await world.refuse()
  await world.spread()
  await world.reconnect(world.account.id, grantOf(world.endpoint.grant()))
  const waiting = async () => (await world.statuses()).filter(status => status === LOST).length
  expect(await waiting()).toBe(5)
  const { payload } = await world.db
    .selectFrom('job')
    .select('payload')
    .where('tenant_id', '=', world.account.tenantId)
    .where('kind', '=', 'follow_delegate')
    .executeTakeFirstOrThrow()
  const woken: string[] = []
  const handler = followDelegateHandler(world.db, id => void woken.push(id))
  for (let run = 0; run < 2; run++)
    await handler.run(payload, { tenantId: world.account.tenantId, signal: NEVER })
  expect(await waiting()).toBe(0)
  expect(new Set(woken).size).toBe(5)
  expect(new Set(await world.events('account.connected'))).toEqual(new Set([1]))
})

test('leaves a refused grant alone that was renewed before its refusal was stored', async () => {
  await using world = await openWorld(2)
  const known = await world.grant()
  await world.reconnect(world.account.id, grantOf(world.endpoint.grant()))
  expect(await recordRefused(world.db, world.account, known)).toBe(false)
  expect(await world.statuses()).toEqual(repeat('active', 2))
})

test('a page of an earlier refusal stops nothing after the grant was renewed', async () => {
  await using world = await openWorld(PAGE_ACCOUNTS + 3)
  await world.refuse()
  await world.reconnect(world.account.id, grantOf(world.endpoint.grant()))
  await world.spread()
  expect(new Set(await world.statuses())).toEqual(new Set(['active']))
})

test('stops a shared mailbox that was paused during the refusal when its pause ends', async () => {
  await using world = await openWorld(2)
  const [first] = world.shared
  const setStatus = (status: 'paused' | 'active') =>
    world.db.updateTable('account').set({ status }).where('id', '=', first!.id).execute()
  await setStatus('paused')
  await world.refuse()
  expect((await world.statuses()).toSorted()).toEqual(['paused', LOST])
  await setStatus('active')
  expect((await failureOf(world.tokensOf(first!).get())).kind).toBe('grant_refused')
  expect(await world.statuses()).toEqual([LOST, LOST])
  // The same without the knowledge of the delegate.
  const { id, tenantId } = first!
  expect((await failureOf(world.tokensOf({ id, tenantId }).get())).kind).toBe('grant_refused')
})

test('stops shared mailboxes of a delegate that needs a grant for another reason', async () => {
  await using world = await openWorld(2)
  await inTransaction(world.db, world.account.tenantId, async unit => {
    await recordReauthRequired(unit, (await lockAccount(unit, world.account.id))!, 'scope_missing')
  })
  await world.spread()
  expect(await world.statuses()).toEqual([LOST, LOST])
})

test('a delegate and its shared mailboxes share one look at the database in a process', async () => {
  await using world = await openWorld(3)
  const tokensOf = world.openTokens()
  const all = [world.account, ...world.shared].map(tokensOf)
  const first = await all[0]!.get()
  // A look would find a token that does not open.
  const broken = Buffer.from([0])
  await world.db
    .updateTable('oauth_grant')
    .set({ access_token: broken })
    .where('account_id', '=', world.account.id)
    .execute()
  for (const tokens of all) expect((await tokens.get()).reveal()).toBe(first.reveal())
})
