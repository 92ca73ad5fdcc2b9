import { createSecretKey, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { DatabaseError } from 'pg'
import { expect, test } from 'vitest'
import { recordDelegateLost, recordRefused } from '../../src/accounts/grants/record-refused.ts'
import { spreadGrants } from '../../src/accounts/grants/spread.ts'
import { findGrant } from '../../src/accounts/grants/store.ts'
import { claimAccounts, releaseAccounts } from '../../src/accounts/halves/ownership.ts'
import { followPage } from '../../src/accounts/shared/follow-delegate.ts'
import { lockPage } from '../../src/accounts/shared/lock.ts'
import { lockAccount, updateAccount } from '../../src/accounts/store.ts'
import { inTransaction, type UnitOfWork } from '../../src/events/unit-of-work.ts'
import { deleteAccount } from '../../src/features/accounts/accounts/deletion.ts'
import { restartAccountsOf } from '../../src/features/accounts/oauth-apps/restart.ts'
import { newId } from '../../src/kit/ids.ts'
import { type Random, seeded } from '../seeded.ts'
import { seedsFor } from '../sync/disturbance.ts'
import { grantOf } from './granted-account.ts'
import { useTokenWorlds } from './open-token-world.ts'
import { insertShared } from './shared-mailboxes.ts'

const { openWorld: open } = useTokenWorlds()
const NEVER = new AbortController().signal
const DELEGATES = 3
const SHARED = 5
const ACTORS = 8
const ACTS_OF_ACTOR = 20

interface Holder {
  id: string
  subject: string
}

async function arrange(world: Awaited<ReturnType<typeof open>>) {
  const { db } = world.database
  const { tenantId } = world.account
  const appId = newId()
  await sql`
    insert into oauth_app (id, tenant_id, provider, name, client_id, credential_type, secret)
    values (${appId}, ${tenantId}, 'google', 'ours', 'a-client', 'secret', ${Buffer.from([0])})`.execute(db)
  const holders: Holder[] = []
  const sharedIds: string[] = []
  for (let nth = 0; nth < DELEGATES; nth++) {
    const subject = `google:${newId()}`
    const { id } = await world.connect(grantFor(world, subject))
    holders.push({ id, subject })
    sharedIds.push(...(await insertShared(db, { id, tenantId }, SHARED)))
  }
  await sql`update account set oauth_app_id = ${appId} where id = any(${holders.map(({ id }) => id)}::uuid[])`.execute(
    db,
  )
  const instanceId = newId()
  await db
    .insertInto('instance')
    .values({ id: instanceId, heartbeat_until: sql`clock_timestamp() + interval '1 hour'` })
    .execute()
  const ending = { accounts: world.keys, revocations: createSecretKey(randomBytes(32)) }
  const change = <T>(work: (unit: UnitOfWork) => Promise<T>) => inTransaction(db, tenantId, work)
  return { ...world, db, tenantId, appId, holders, sharedIds, instanceId, ending, change }
}
type World = Awaited<ReturnType<typeof arrange>>

function grantFor({ endpoint }: Pick<World, 'endpoint'>, subject: string) {
  const identity = { subject, email: `${subject.slice(-12)}@gmail.test`, displayName: null }
  return grantOf(endpoint.grant(), { identity })
}

const anyOf = ({ holders, sharedIds }: World, random: Random) =>
  random.chance(0.3) ? random.pick(holders).id : random.pick(sharedIds)

type Act = (world: World, random: Random) => Promise<unknown>

const ACTS: Record<string, Act> = {
  'a refusal': async (world, random) => {
    const account = { id: anyOf(world, random), tenantId: world.tenantId }
    const grant = await findGrant(world.db, account)
    if (grant) await recordRefused(world.db, account, grant)
  },
  'a token that cannot be had': (world, random) =>
    recordDelegateLost(world.db, { id: random.pick(world.sharedIds), tenantId: world.tenantId }),
  'a new grant': async (world, random) => {
    const { id, subject } = random.pick(world.holders)
    await world.reconnect(id, grantFor(world, subject)).catch(ignoreRefusal)
  },
  'a page of the job': (world, random) =>
    world.change(unit => followPage(unit, random.pick(world.holders).id)),
  'the recurring task': world => spreadGrants(world.db, () => {}, NEVER),
  'a restart by the app': (world, random) =>
    world.change(unit => restartAccountsOf(unit, world.appId, random.pick(['all', 'misconfigured']))),
  'a pause or its end': (world, random) =>
    world.change(async unit => {
      const before = await lockAccount(unit, anyOf(world, random))
      if (before?.status === 'active')
        await updateAccount(unit, before, { status: 'paused', status_reason: null })
      else if (before?.status === 'paused') await updateAccount(unit, before, { status: 'active' })
    }),
  'another delegate': (world, random) =>
    world.change(async unit => {
      const [id, to] = [random.pick(world.sharedIds), random.pick(world.holders).id]
      await lockPage(unit, to, { also: id })
      const before = await lockAccount(unit, id)
      if (before) await updateAccount(unit, before, { delegate_account_id: to }, { reachedAnew: ['mail'] })
    }),
  'a claim and a release': async ({ db, instanceId }) =>
    releaseAccounts(db, await claimAccounts(db, instanceId, 10)),
}

function ignoreRefusal(error: unknown): void {
  // The account was deleted meanwhile.
  if (error instanceof DatabaseError || !(error instanceof Error)) throw error
  if (!/account_mismatch/.test(JSON.stringify(error) + error.message)) throw error
}

test.each(seedsFor(2))(
  'refusals, renewals, restarts, pauses and deletions at random never deadlock, and all follow at last (seed %s)',
  async seed => {
    await using opened = await open()
    const world = await arrange(opened)
    const { db, tenantId, holders } = world
    const acts = Object.entries(ACTS)
    const actor = async (random: Random) => {
      for (let nth = 0; nth < ACTS_OF_ACTOR; nth++) {
        const [name, act] = random.pick(acts)
        await act(world, random).catch((error: unknown) => {
          throw new Error(`${name} failed`, { cause: error })
        })
      }
    }
    const deleted = holders.at(-1)!
    const deleting = world.change(unit => deleteAccount(unit, world.ending, deleted.id, { purge: false }))
    const actors = Array.from({ length: ACTORS }, (_, nth) => actor(seeded(`${seed}/${nth}`)))
    await Promise.all([...actors, deleting])

    for (const { id } of holders) await world.change(unit => followPage(unit, id))
    const { rows } = await sql<{ status: string; reason: string | null; expected: string | null }>`
      select account.status, account.status_reason as reason,
        case when delegate.deleted_at is not null then 'delegate_deleted'
          when delegate.status = 'reauth_required' or refused_at is not null then 'delegate_reauth_required' end as expected
      from account join account as delegate on delegate.id = account.delegate_account_id
      left join oauth_grant on oauth_grant.account_id = delegate.id
      where account.tenant_id = ${tenantId} and account.status <> 'paused'
    `.execute(db)
    expect(rows.length).toBeGreaterThan(0)
    for (const { status, reason, expected } of rows)
      expect({ status, reason }).toEqual({
        status: expected ? 'reauth_required' : 'active',
        reason: expected,
      })
    const { rows: halves } = await sql`
      select from account_half join account on account.id = account_id
      where account_half.owner_instance is distinct from
        case when status = 'active' and deleted_at is null then account.owner_instance end`.execute(db)
    expect(halves).toEqual([])
  },
)
