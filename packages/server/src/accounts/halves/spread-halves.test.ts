import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../../test/open-database.ts'
import { sampleGrant, sampleTenant } from '../../../test/sample-rows.ts'
import { waitUntil } from '../../../test/wait-until.ts'
import { type DatabaseAddress, type Db, openDatabase } from '../../database/pool.ts'
import { processName } from '../../database/schema-fit.ts'
import { newId } from '../../kit/ids.ts'
import { spreadHalves } from './spread-halves.ts'

const NEVER = new AbortController().signal
const SERVERS = JSON.stringify({
  imap: { host: 'imap.example.com', port: 993, security: 'tls', user: 'ada' },
  smtp: null,
  auth: 'password',
  appendSent: true,
  dav: { calendarUrl: null, contactsUrl: 'https://dav.example.com/', user: 'ada', auth: 'imap_password' },
})

/** Opens a database as a process of the service does whose newest migration is this one. */
const openAs = (address: DatabaseAddress, schema: number) =>
  openDatabase({ address, applicationName: processName('service', schema) })

/** A database of an earlier release, which followed no contacts: accounts have them on, and no half. */
async function openUpgraded() {
  await using opened = new AsyncDisposableStack()
  const { address } = opened.use(await openTestDatabase())
  const { db } = opened.use(openAs(address, 73))
  const owner = newId()
  await sql`insert into instance (id, heartbeat_until) values (${owner}, now() + interval '1 hour')`.execute(
    db,
  )
  const woken: string[] = []
  const owned = opened.move()
  return {
    db,
    address,
    owner,
    woken,
    spread: () => spreadHalves(db, id => void woken.push(id), NEVER),
    halves: async () =>
      (
        await sql<{ id: string }>`
          select account_id as id from account_half where kind = 'contacts' order by account_id`.execute(db)
      ).rows.map(({ id }) => id),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** Adds accounts with their contacts on. */
async function addAccounts(db: Db, tenantId: string, owner: string, count: number): Promise<string[]> {
  const ids = Array.from({ length: count }, newId).toSorted()
  await sql`
    insert into account (id, tenant_id, provider, email, auth_method, imap, settings_override, owner_instance)
    select id, ${tenantId}, 'imap', id || '@example.com', 'password', ${SERVERS}::jsonb,
      '{"contactsEnabled": true}', ${owner}
    from unnest(${ids}::uuid[]) as id
  `.execute(db)
  await sql`
    insert into account_half (account_id, tenant_id, kind) select id, tenant_id, 'mail' from account
    on conflict do nothing
  `.execute(db)
  return ids
}

const finishFirstSyncs = (db: Db) =>
  sql`
    update account_half set initialized_at = now(), behind_since = null where kind = 'contacts'
  `.execute(db)

test('a thousand accounts get the half of their contacts few at a time, in all tenants, each once', async () => {
  await using upgraded = await openUpgraded()
  const { db, owner, woken, spread, halves } = upgraded
  const tenants = [await sampleTenant(db), await sampleTenant(db)]
  const ids: string[] = []
  for (let round = 0; round < 4; round++)
    for (const { id } of tenants) ids.push(...(await addAccounts(db, id, owner, 150)))
  await spread()
  const first = await halves()
  expect(first).toEqual(ids.toSorted().slice(0, 100))
  expect(woken.toSorted()).toEqual(first)
  await spread()
  expect(await halves()).toEqual(first)
  // Accounts in trouble are not waited for.
  await sql`update account_half set problem = 'dav_login_failed' where kind = 'contacts'`.execute(db)
  await spread()
  expect(await halves()).toHaveLength(200)

  for (let round = 0; round < 12; round++) {
    await finishFirstSyncs(db)
    await spread()
  }
  expect(await halves()).toEqual(ids.toSorted())
  expect(woken).toHaveLength(1_200)
  const { rows } = await sql`
    select kind, provider, after_id as "afterId" from half_spread order by provider
  `.execute(db)
  expect(rows).toContainEqual({ kind: 'contacts', provider: 'imap', afterId: null })
})

test('accounts are looked at once, unless an earlier release runs again', async () => {
  await using upgraded = await openUpgraded()
  const { db, address, owner, spread, halves } = upgraded
  const tenant = await sampleTenant(db)
  await spread()
  // As an earlier release would connect it.
  const ids = await addAccounts(db, tenant.id, owner, 1)
  await spread()
  expect(await halves()).toEqual([])

  {
    await using older = openAs(address, 72)
    await sql`select`.execute(older.db)
    await spread()
    expect(await halves()).toEqual([])
  }
  await waitUntil('the earlier release to be gone', async () => {
    await spread()
    return (await halves()).length === 1
  })
  expect(await halves()).toEqual(ids)
})

test('accounts that have contacts off, have none, or are deleted get no half', async () => {
  await using upgraded = await openUpgraded()
  const { db, owner, spread, halves, woken } = upgraded
  const tenant = await sampleTenant(db)
  const [off = '', deleted = '', without = '', paused = '', gmail = ''] = await addAccounts(
    db,
    tenant.id,
    owner,
    5,
  )
  await sql`update account set settings_override = '{}' where id = ${off}`.execute(db)
  await sql`update account set deleted_at = now() where id = ${deleted}`.execute(db)
  await sql`update account set imap = jsonb_set(imap, '{dav}', 'null') where id = ${without}`.execute(db)
  await sql`update account set status = 'paused' where id = ${paused}`.execute(db)
  await sql`update account set provider = 'gmail', auth_method = 'oauth', imap = null where id = ${gmail}`.execute(
    db,
  )
  await sampleGrant(db, gmail, ['https://www.googleapis.com/auth/contacts.other.readonly'])
  await spread()
  expect(await halves()).toEqual([paused])
  expect(woken).toEqual([paused])
  const { rows } =
    await sql`select owner_instance as owner from account_half where kind = 'contacts'`.execute(db)
  expect(rows).toEqual([{ owner: null }])
})
