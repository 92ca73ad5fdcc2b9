import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { newId } from '../../src/kit/ids.ts'
import { findFreePort, readMetric } from '../metrics.ts'
import { copyContact } from '../sample-rows.ts'
import { davTestClient } from '../servers/dav-client.ts'
import { connectionWithDav } from '../servers/dav-connection.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { startRadicale } from '../servers/radicale.ts'
import { useServer } from '../servers/shared-server.ts'
import { openSyncApp } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { compareNow, readIntegrity } from '../sync/compare-now.ts'
import { waitForContacts, waitForNames } from './carddav-account.ts'

let metricsPort = 0
const opened = useServer(async () => {
  metricsPort = await findFreePort()
  return openSyncApp({ config: { metricsPort } })
})
const dovecot = useServer(startDovecot)
const radicale = useServer(startRadicale)

const NAMES = ['Ada', 'Bob', 'Cid', 'Dan']

async function connect() {
  const davUser = await radicale().addUser()
  const client = davTestClient(radicale(), davUser)
  const book = await client.makeBook('people', 'People')
  for (const name of NAMES)
    await client.put(
      `${book}${name}.vcf`,
      ['BEGIN:VCARD', 'VERSION:3.0', `UID:${name}`, `FN:${name}`, `N:${name};;;;`, 'END:VCARD', ''].join(
        '\r\n',
      ),
    )
  const connection = connectionWithDav(dovecot(), await dovecot().addUser(), {
    dav: radicale(),
    davUser,
    half: 'contactsUrl',
  })
  const { body } = await opened().post<Account>('/v1/imap-accounts', connection)
  await waitForContacts(opened(), body.id)
  return { id: body.id, client, book }
}

test('contacts of which rows were changed behind the back of the service are found, repaired and announced once', async () => {
  const { id } = await connect()
  const { db } = opened()
  const [, bob] = await waitForNames(opened(), id, NAMES)
  const folders = await opened().get<{ items: Array<{ id: string }> }>(`/v1/accounts/${id}/contact-folders`)
  const folderId = folders.body.items[0]!.id
  const none = { missing: 0, extra: 0, changed: 0, repaired: 0 }
  const equal = await compareNow(opened(), id)
  expect(equal).toMatchObject({ ...none, contactFolders: [{ folderId, listed: 4, indexed: 4, ...none }] })
  expect(equal.verifiedAt).not.toBeNull()

  const where = (name: string) => sql`account_id = ${id} and display_name = ${name}`
  const { rows } = await sql<{ key: string }>`
    select provider_key as key from contact where ${where('Dan')}`.execute(db)
  await copyContact(db, rows[0]!.key, {
    id: newId(),
    provider_key: '/ghost.vcf',
    uid: null,
    display_name: 'Ghost',
  })
  await sql`delete from contact where ${where('Ada')}`.execute(db)
  await sql`update contact set version = 'another', display_name = 'Eve' where ${where('Bob')}`.execute(db)

  const healed = await compareNow(opened(), id)
  expect(healed.contactFolders).toMatchObject([
    { folderId, listed: 4, indexed: 4, missing: 0, extra: 0, changed: 0, repaired: 3 },
  ])
  expect(healed.repaired).toBe(3)
  const after = await waitForNames(opened(), id, NAMES)
  expect(after[1]!.id).toBe(bob!.id)
  const events = await sql<{ type: string; name: string | null }>`
    select type, data -> 'contact' ->> 'displayName' as name from event
    where account_id = ${id} and type like 'contact.%' order by type`.execute(db)
  expect(events.rows).toEqual([
    { type: 'contact.created', name: 'Ada' },
    { type: 'contact.deleted', name: 'Ghost' },
    { type: 'contact.updated', name: 'Bob' },
  ])
})

test('halves are counted by their kind, with their state, and those that have a problem', async () => {
  const { id } = await connect()
  const metric = (name: string) => readMetric(metricsPort, name)
  await waitUntil(
    'contacts to be counted as live',
    async () => (await metric('waxwing_halves_followed{kind="contacts",state="live"}')) > 0,
  )
  expect(await metric('waxwing_halves_with_problem{kind="contacts"}')).toBe(0)
  const found = sql`account_id = ${id} and kind = 'contacts'`
  await sql`update account_half set problem = 'dav_login_failed', behind_since = now() where ${found}`.execute(
    opened().db,
  )
  expect(await metric('waxwing_halves_with_problem{kind="contacts"}')).toBe(1)
  expect(await metric('waxwing_halves_behind{kind="contacts"}')).toBeGreaterThanOrEqual(1)
})

test('an account is behind while contacts differ, and shows no folders while its contacts are off', async () => {
  const { id } = await connect()
  await compareNow(opened(), id)
  await sql`
    update contact_comparison set missing = 2 where account_id = ${id}`.execute(opened().db)
  expect(await readIntegrity(opened(), id)).toMatchObject({ state: 'behind', missing: 2 })
  await opened().patch(`/v1/accounts/${id}`, { settings: { contactsEnabled: false } })
  const without = await readIntegrity(opened(), id)
  expect(without).toMatchObject({ state: 'verified', missing: 0 })
  expect(without).not.toHaveProperty('contactFolders')
})
