/** @module-tag postgres-16 */
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { Db } from '../src/database/pool.ts'
import { measureTroubles } from '../src/accounts/troubles.ts'
import { measureDiffering } from '../src/features/integrity/comparisons/store.ts'
import { mailWeight } from '../src/features/mail/following/weight.ts'
import { listUnindexed } from '../src/features/mail/content/body-index.ts'
import { listFullAccounts } from '../src/features/mail/content/unstored.ts'
import { FIRST_ID, newId } from '../src/kit/ids.ts'
import { claimAccounts, hasUnfollowed, listOwned, releaseOfDead } from '../src/accounts/halves/ownership.ts'
import { takeAttention } from '../src/accounts/halves/wanted.ts'
import { readSpread } from '../src/accounts/spread.ts'
import { openTestDatabase } from './open-database.ts'
import { sampleTenant } from './sample-rows.ts'
import { addHalves } from './halves.ts'

const ACCOUNTS = 20_000
const PAGE = 500
const HALFWAY = '80000000-0000-0000-0000-000000000000'
/** A page of accounts, and the small overhead of indexes and small tables. */
const ROWS_MAX = 2 * PAGE

const RECURRING: Record<string, (db: Db, instanceId: string) => Promise<unknown>> = {
  'accounts that need attention': (db, instanceId) => takeAttention(db, instanceId, ['mail']),
  'whether an account is not followed': db => hasUnfollowed(db),
  'accounts of dead processes': db => releaseOfDead(db),
  'a page of own accounts': (db, instanceId) => listOwned(db, instanceId, HALFWAY, PAGE),
  'what each process follows': readSpread,
  'a claim': (db, instanceId) => claimAccounts(db, instanceId, 50, mailWeight),
  'accounts in trouble': db => measureTroubles(db),
  'accounts that differ': db => measureDiffering(db),
  'which of some accounts store every message': async (db, instanceId) => {
    const owned = await listOwned(db, instanceId, HALFWAY, 50)
    return listFullAccounts(
      db,
      owned.map(account => ({ ...account, tenantId: '' })),
    )
  },
  'stored bodies to index': (db, instanceId) => listUnindexed(db, { ownerId: instanceId, after: FIRST_ID }),
}

/** Rows of both tables together. */
const BOUNDS: Record<string, number> = {
  // Their accounts and halves are found and written.
  'accounts of dead processes': 2 * ROWS_MAX,
  // The accounts of the dead process are in trouble until they are released.
  'accounts in trouble': 2 * ACCOUNTS + ROWS_MAX,
}

/** Rows of accounts and halves that the session has read so far, by any access method. */
async function countRead(db: Db): Promise<number> {
  await sql`select pg_stat_force_next_flush()`.execute(db)
  const { rows } = await sql<{ read: number }>`
    select sum(seq_tup_read + idx_tup_fetch)::float8 as read from pg_stat_user_tables
    where relname in ('account', 'account_half')
  `.execute(db)
  return rows[0]!.read
}

test('statements that run every few seconds do not read healthy accounts', async () => {
  await using database = await openTestDatabase({ connectionsMax: 1 })
  const { db } = database
  const tenant = await sampleTenant(db)
  const instanceId = newId()
  const until = sql<Date>`clock_timestamp() + interval '50 seconds'`
  await db.insertInto('instance').values({ id: instanceId, heartbeat_until: until }).execute()
  const deadId = newId()
  await db
    .insertInto('instance')
    .values({ id: deadId, heartbeat_until: sql`clock_timestamp() - interval '1 minute'` })
    .execute()
  const suspended = await sampleTenant(db)
  await db.updateTable('tenant').set({ suspended_at: new Date() }).where('id', '=', suspended.id).execute()
  await sql`
    insert into account (id, tenant_id, provider, email, auth_method, owner_instance)
    select gen_random_uuid(), ${tenant.id}, 'imap', n || '@a.test', 'password', ${instanceId}
    from generate_series(1, ${ACCOUNTS}::int) as n
  `.execute(db)
  // Accounts that are suspended, paused, or waiting to be released from a dead process.
  await sql`
    insert into account (id, tenant_id, provider, email, auth_method, status, owner_instance)
    select gen_random_uuid(), tenant_id, 'imap', kind || n || '@b.test', 'password', status, owner
    from generate_series(1, ${ACCOUNTS}::int) as n, (values
      ('suspended', ${suspended.id}::uuid, 'active', null::uuid),
      ('paused', ${tenant.id}::uuid, 'paused', null),
      ('dead', ${tenant.id}::uuid, 'active', ${deadId}::uuid)
    ) as kinds (kind, tenant_id, status, owner)
  `.execute(db)
  await addHalves(db)
  await sql`update account_half set runtime_state = 'live' where owner_instance = ${instanceId}`.execute(db)
  await sql`analyze account, account_half, instance, tenant`.execute(db)

  const read: Record<string, number> = {}
  for (const [name, run] of Object.entries(RECURRING)) {
    const before = await countRead(db)
    await run(db, instanceId)
    read[name] = (await countRead(db)) - before
  }
  expect(Object.entries(read).filter(([name, rows]) => rows > (BOUNDS[name] ?? ROWS_MAX))).toEqual([])
})
