import { describe, expect, test } from 'vitest'
import { sql } from 'kysely'
import { openTestDatabase } from '../../../test/open-database.ts'
import type { Db } from '../../database/pool.ts'
import { inTransaction } from '../../events/unit-of-work.ts'
import { newId } from '../../kit/ids.ts'
import {
  claimAccounts,
  FenceLost,
  hasUnfollowed,
  RELEASED_AT_ONCE,
  releaseAccounts,
  releaseOfDead,
} from './ownership.ts'
import { fenceAccount } from '../../features/mail/following/fence.ts'
import { takeAttention, takeWanted } from './wanted.ts'
import { addHalves, matchHalves } from '../../../test/halves.ts'

async function insertAccounts(db: Db, count: number): Promise<void> {
  const tenantId = newId()
  await db.insertInto('tenant').values({ id: tenantId, name: tenantId, settings: '{}' }).execute()
  for (let index = 0; index < count; index++) {
    await db
      .insertInto('account')
      .values({
        id: newId(),
        tenant_id: tenantId,
        provider: 'imap',
        email: `${index}@a.test`,
        auth_method: 'password',
      })
      .execute()
  }
  await addHalves(db)
}

async function insertInstance(db: Db, seconds: number): Promise<string> {
  const id = newId()
  const until = sql<Date>`clock_timestamp() + make_interval(secs => ${seconds})`
  await db.insertInto('instance').values({ id, heartbeat_until: until }).execute()
  return id
}

describe('claimAccounts', () => {
  test('each account gets one owner, however many instances ask at once', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    await insertAccounts(db, 40)
    const instances = await Promise.all([1, 2, 3, 4].map(() => insertInstance(db, 60)))
    const claims = await Promise.all(
      instances.flatMap(id => [claimAccounts(db, id, 15), claimAccounts(db, id, 15)]),
    )
    const claimed = claims.flat().map(({ id }) => id)
    expect(claimed).toHaveLength(new Set(claimed).size)
    expect(claimed).toHaveLength(40)
  })

  test.each([
    ['ran out', '-1 second'],
    ['was written before the clock of the database was set back', '2 hours'],
  ])('an account is taken over from an instance whose lease %s, and from no other', async (_, until) => {
    await using database = await openTestDatabase()
    const { db } = database
    await insertAccounts(db, 2)
    const dying = await insertInstance(db, 60)
    const other = await insertInstance(db, 60)
    const held = await claimAccounts(db, dying, 10)
    await releaseOfDead(db)
    expect(await claimAccounts(db, other, 10)).toEqual([])

    await sql`update instance set heartbeat_until = clock_timestamp() + ${until}::interval where id = ${dying}`.execute(
      db,
    )
    await releaseOfDead(db)
    const taken = await claimAccounts(db, other, 10)
    expect(taken.map(({ id }) => id).toSorted()).toEqual(held.map(({ id }) => id).toSorted())
    expect(taken.every(({ epoch }) => epoch === '2')).toBe(true)
  })
})

describe('hasUnfollowed', () => {
  test('does not count accounts of suspended tenants, which nobody may claim', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    await insertAccounts(db, 1)
    await sql`update tenant set suspended_at = now()`.execute(db)
    expect(await hasUnfollowed(db)).toBe(false)
    await insertAccounts(db, 1)
    expect(await hasUnfollowed(db)).toBe(true)
  })
})

describe('releaseOfDead', () => {
  test('returns the number of released accounts, and clears the trouble of stopped ones', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    await insertAccounts(db, 3)
    await claimAccounts(db, await insertInstance(db, 60), 10)
    await sql`update account set status = 'paused' where email = '0@a.test'`.execute(db)
    await sql`update account_half set failing_since = now() where account_id in (
      select id from account where status = 'paused')`.execute(db)
    await matchHalves(db)
    await sql`update instance set heartbeat_until = '-infinity'`.execute(db)

    expect(await releaseOfDead(db)).toBe(3)
    expect(await releaseOfDead(db)).toBe(0)
    const { rows } = await sql`
      select email from account join account_half on account_id = id
      where behind_since is not null or failing_since is not null order by email
    `.execute(db)
    expect(rows).toEqual([{ email: '1@a.test' }, { email: '2@a.test' }])
  })

  test('takes each page of the accounts of a large process at once', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    await insertAccounts(db, 1)
    const dead = await insertInstance(db, -60)
    await sql`
      insert into account (id, tenant_id, provider, email, auth_method, owner_instance)
      select gen_random_uuid(), tenant_id, 'imap', n || '@b.test', 'password', ${dead}
      from account, generate_series(1, ${RELEASED_AT_ONCE}) as n
    `.execute(db)
    await addHalves(db)
    expect(await releaseOfDead(db)).toBe(RELEASED_AT_ONCE)
  })
})

describe('fenceAccount', () => {
  test.each([
    ['taken over', sql`owner_epoch = owner_epoch + 1`],
    ['let go', sql`owner_instance = null`],
    ['paused', sql`status = 'paused'`],
    ['deleted', sql`deleted_at = now()`],
  ])('nothing is committed for an account that was %s', async (_, change) => {
    await using database = await openTestDatabase()
    const { db } = database
    await insertAccounts(db, 1)
    const [owned] = await claimAccounts(db, await insertInstance(db, 60), 1)
    if (!owned) throw new Error('nothing to claim')
    const write = () =>
      inTransaction(db, owned.tenantId, async unit => {
        await fenceAccount(unit, owned, [])
        await unit.sql
          .updateTable('account')
          .set({ display_name: 'written' })
          .where('id', '=', owned.id)
          .execute()
      })
    await write()
    await sql`update account set display_name = null, ${change}`.execute(db)
    await matchHalves(db)
    await expect(write()).rejects.toThrow(FenceLost)
    expect(await db.selectFrom('account').select('display_name').execute()).toEqual([{ display_name: null }])
  })
})

describe('takeWanted', () => {
  test('a request during a pass becomes one more pass, several become one', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    await insertAccounts(db, 1)
    const [owned] = await claimAccounts(db, await insertInstance(db, 60), 1)
    if (!owned) throw new Error('nothing to claim')
    await db
      .updateTable('account_half')
      .set({ sync_wanted: ['mail', 'restart'] })
      .execute()
    expect(await takeAttention(db, owned.instanceId, ['mail'])).toMatchObject([
      { accountId: owned.id, mustRestart: true, mustStop: false },
    ])
    expect((await takeWanted(db, owned, 'mail')).wanted).toEqual(['mail', 'restart'])
    expect((await takeWanted(db, owned, 'mail')).wanted).toEqual([])
    expect(await takeAttention(db, owned.instanceId, ['mail'])).toEqual([])
  })
})

describe('releaseAccounts', () => {
  test('lets another instance claim at once, and returns why an account stopped', async () => {
    await using database = await openTestDatabase()
    const { db } = database
    await insertAccounts(db, 1)
    const [owned] = await claimAccounts(db, await insertInstance(db, 60), 1)
    if (!owned) throw new Error('nothing to claim')
    await db.updateTable('account').set({ status: 'paused', status_reason: 'paused_by_user' }).execute()
    await matchHalves(db)
    await releaseAccounts(db, [owned])
    expect(
      await db
        .selectFrom('account_half')
        .select(['runtime_state', 'runtime_detail', 'owner_instance'])
        .execute(),
    ).toEqual([{ runtime_state: 'stopped', runtime_detail: 'paused_by_user', owner_instance: null }])
    await db.updateTable('account').set({ status: 'active' }).execute()
    expect(await claimAccounts(db, await insertInstance(db, 60), 1)).toHaveLength(1)
  })
})
