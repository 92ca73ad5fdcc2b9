/** @module-tag postgres-16 */
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { sampleAccount, sampleGrant } from '../../../test/sample-rows.ts'
import { type SharedApp, useTestApp } from '../../../test/use-app.ts'
import { waitForLock } from '../../../test/wait-for-lock.ts'
import type { Db } from '../../database/pool.ts'
import { inTransaction } from '../../events/unit-of-work.ts'
import { newId } from '../../kit/ids.ts'
import { lockAccount, updateAccount } from '../store.ts'
import { measureTroubles } from '../troubles.ts'
import { ALL_KINDS, type HalfKind } from './kind.ts'
import { holdingOwned } from './lock.ts'
import { claimAccounts, releaseOfDead } from './ownership.ts'
import { recordReachChanged } from './reach.ts'
import { recordStatusOfHalves } from './status.ts'
import { storeProblem } from './trouble.ts'

const service = useTestApp()

/** An account whose calendars and contacts are followed as well. */
async function openAccount({ newTenant }: SharedApp) {
  const tenant = await newTenant()
  const { db, tenantId } = tenant
  const { id } = await sampleAccount(db, tenantId)
  await sql`
    insert into account_half (account_id, tenant_id, kind)
    select ${id}, ${tenantId}, kind from unnest(array['calendar', 'contacts']) as kind
  `.execute(db)
  return {
    tenant,
    db,
    tenantId,
    id,
    halves: async () => {
      const { rows } = await sql<{
        kind: HalfKind
        owner: string | null
        stamp: string
        sync_wanted: string[]
        problem: string | null
      }>`
        select kind, owner_instance as owner, stamp, sync_wanted, problem from account_half
        where account_id = ${id} order by kind
      `.execute(db)
      return rows
    },
    read: async () => (await tenant.get<Account>(`/v1/accounts/${id}`)).body,
  }
}

async function insertInstance(db: Db): Promise<string> {
  const id = newId()
  await db
    .insertInto('instance')
    .values({ id, heartbeat_until: new Date(Date.now() + 50_000) })
    .execute()
  return id
}

/** Runs the statement, which fails if it waits for a lock. */
const withoutWaiting = <T>(db: Db, work: (tx: Db) => Promise<T>): Promise<T> =>
  db.transaction().execute(async tx => {
    await sql`set local lock_timeout = '500ms'`.execute(tx)
    return work(tx)
  })

const idsOf = (claimed: readonly { id: string }[]) => claimed.map(({ id }) => id)

describe('an account with several halves', () => {
  test('is claimed with all of them, and by nobody while a step holds one of them', async () => {
    const { db, id, halves } = await openAccount(service)
    const instanceId = await insertInstance(db)
    await db.transaction().execute(async step => {
      await sql`select from account_half where account_id = ${id} and kind = 'calendar' for share`.execute(
        step,
      )
      const claimed = await withoutWaiting(db, tx => claimAccounts(tx, instanceId, 100))
      expect(idsOf(claimed)).not.toContain(id)
    })
    expect(idsOf(await claimAccounts(db, instanceId, 100))).toContain(id)
    expect((await halves()).map(({ owner }) => owner)).toEqual([instanceId, instanceId, instanceId])
  })

  test('is taken from a dead process with all of them, but not while a step holds one of them', async () => {
    const { db, id, halves } = await openAccount(service)
    const instanceId = await insertInstance(db)
    const owned = (await claimAccounts(db, instanceId, 100)).find(account => account.id === id)!
    await sql`update instance set heartbeat_until = '-infinity' where id = ${instanceId}`.execute(db)
    await db.transaction().execute(async step => {
      await holdingOwned(owned, 'contacts').execute(step)
      await withoutWaiting(db, releaseOfDead)
    })
    expect((await halves()).map(({ owner }) => owner)).toEqual([instanceId, instanceId, instanceId])
    await releaseOfDead(db)
    expect((await halves()).map(({ owner }) => owner)).toEqual([null, null, null])
  })

  test.each(['reached in another way', 'paused'] as const)(
    'keeps what is committed of its halves while it waits to be %s, and changes each of them',
    async how => {
      const { db, id, tenantId, halves } = await openAccount(service)
      const owner = await insertInstance(db)
      await sql`update account set owner_instance = ${owner} where id = ${id}`.execute(db)
      await sql`delete from account_half where account_id = ${id} and kind = 'contacts'`.execute(db)
      let changing: Promise<unknown> = Promise.resolve()
      await db.transaction().execute(async step => {
        await sql`
          update account_half set sync_wanted = '{calendar}', stamp = 5
          where account_id = ${id} and kind = 'calendar'
        `.execute(step)
        changing = inTransaction(db, tenantId, async unit => {
          if (how === 'paused') {
            await unit.sql.updateTable('account').set({ status: 'paused' }).where('id', '=', id).execute()
            await recordStatusOfHalves(unit, [id])
          } else await recordReachChanged(unit, [id], ALL_KINDS)
        })
        await waitForLock(db)
        await sql`
          insert into account_half (account_id, tenant_id, kind, owner_instance)
          values (${id}, ${tenantId}, 'contacts', ${owner})
        `.execute(step)
      })
      await changing
      const after = (await halves()).map(half => ({ ...half, sync_wanted: half.sync_wanted.toSorted() }))
      expect(after).toMatchObject(
        how === 'paused'
          ? [
              { kind: 'calendar', stamp: '5', sync_wanted: ['calendar'], owner: null },
              { kind: 'contacts', owner: null },
              { kind: 'mail', owner: null },
            ]
          : [
              { kind: 'calendar', stamp: '6', sync_wanted: ['calendar', 'restart'] },
              { kind: 'contacts', stamp: '2', sync_wanted: ['restart'] },
              { kind: 'mail', stamp: '2', sync_wanted: ['restart'] },
            ],
      )
    },
  )

  test('keeps the problem of its calendars when a login to its mail is proven', async () => {
    const { db, id, tenantId, halves, read } = await openAccount(service)
    await inTransaction(db, tenantId, async unit => {
      await lockAccount(unit, id)
      await storeProblem(unit, id, { kind: 'mail', problem: 'server_not_allowed' })
      await storeProblem(unit, id, { kind: 'calendar', problem: 'invalid_client' })
    })
    const proven = { status: 'active', status_reason: null } as const
    const after = await inTransaction(db, tenantId, async unit =>
      updateAccount(unit, (await lockAccount(unit, id))!, proven, { reachedAnew: ['mail'] }),
    )
    expect((await halves()).map(({ problem }) => problem)).toEqual(['invalid_client', null, null])
    expect(after.other_halves?.find(({ kind }) => kind === 'calendar')?.problem).toBe('invalid_client')
    expect((await read()).statusReason).toBe('invalid_client')
    await inTransaction(db, tenantId, async unit =>
      updateAccount(unit, (await lockAccount(unit, id))!, proven, { reachedAnew: ['calendar'] }),
    )
    expect((await read()).statusReason).toBeNull()
  })

  test.each([
    ['contactsEnabled', 'contacts'],
    ['calendarEnabled', 'calendar'],
  ] as const)('restarts one of them when the setting %s changes', async (setting, kind) => {
    const { db, tenant, id, halves, read } = await openAccount(service)
    await sql`
      update account set provider = 'gmail', auth_method = 'oauth', imap = null where id = ${id}
    `.execute(db)
    await sampleGrant(
      db,
      id,
      ['calendar', 'contacts'].map(name => `https://www.googleapis.com/auth/${name}`),
    )
    const before = (await read()).settings[setting]
    const { status } = await tenant.patch(`/v1/accounts/${id}`, { settings: { [setting]: !before } })
    expect(status).toBe(200)
    const restarted = (await halves()).filter(({ sync_wanted }) => sync_wanted.includes('restart'))
    expect(restarted.map(half => half.kind)).toEqual([kind])
  })
})

test('an account without a half is reported as followed by no process', async () => {
  const { db, tenantId } = await service.newTenant()
  const { id } = await sampleAccount(db, tenantId)
  const before = await measureTroubles(db)
  await sql`delete from account_half where account_id = ${id}`.execute(db)
  await sql`update account set updated_at = now() - interval '1 hour' where id = ${id}`.execute(db)
  expect(idsOf(await claimAccounts(db, await insertInstance(db), 100))).not.toContain(id)
  const { unfollowed } = await measureTroubles(db)
  expect(unfollowed.count).toBeGreaterThan(0)
  expect(unfollowed.oldestSeconds).toBeGreaterThan(3_500)
  expect(before.unfollowed.oldestSeconds).toBeLessThan(3_500)
})
