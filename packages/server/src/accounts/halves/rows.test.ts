/** @module-tag postgres-16 */
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { sampleAccount } from '../../../test/sample-rows.ts'
import { type SharedApp, useTestApp } from '../../../test/use-app.ts'
import { inTransaction } from '../../events/unit-of-work.ts'
import { newId } from '../../kit/ids.ts'
import { insertAccount } from '../store.ts'

const service = useTestApp()

const SERVERS = {
  imap: { host: 'imap.example.com', port: 993, security: 'tls' as const, user: 'ada' },
  smtp: null,
  auth: 'password' as const,
  appendSent: true,
  dav: {
    calendarUrl: 'https://dav.example.com/calendars/',
    contactsUrl: 'https://dav.example.com/books/',
    user: 'ada',
    auth: 'imap_password' as const,
  },
}

/** An account with contacts and calendars by DAV, all switched off. */
async function openAccount({ newTenant }: SharedApp) {
  const tenant = await newTenant()
  await tenant.patch('/v1/settings', { contactsEnabled: false, calendarEnabled: false })
  const { db, tenantId } = tenant
  const { id } = await sampleAccount(db, tenantId, {
    imap: JSON.stringify(SERVERS),
    settings_override: '{}',
  })
  return {
    tenant,
    db,
    id,
    halves: async () => {
      const { rows } = await sql<{ kind: string; owner: string | null; wanted: string[] }>`
        select kind, owner_instance as owner, sync_wanted as wanted from account_half
        where account_id = ${id} and kind <> 'mail' order by kind`.execute(db)
      return rows
    },
  }
}

describe('an account', () => {
  test('gets the half of its contacts when it switches them on, and keeps it', async () => {
    const { tenant, db, id, halves } = await openAccount(service)
    const instanceId = newId()
    await db
      .insertInto('instance')
      .values({ id: instanceId, heartbeat_until: new Date(Date.now() + 50_000) })
      .execute()
    await sql`update account set owner_instance = ${instanceId} where id = ${id}`.execute(db)
    expect(await halves()).toEqual([])
    const turn = (contactsEnabled: boolean) =>
      tenant.patch<Account>(`/v1/accounts/${id}`, { settings: { contactsEnabled } })
    const on = await turn(true)
    expect(on.body).toMatchObject({ settings: { contactsEnabled: true }, contactsInitializedAt: null })
    const half = { kind: 'contacts', owner: instanceId, wanted: ['restart'] }
    expect(await halves()).toEqual([half])
    await turn(false)
    expect(await halves()).toEqual([half])
  })

  test('gets the halves of its contacts and calendars when its tenant switches them on', async () => {
    const { tenant, halves } = await openAccount(service)
    await tenant.patch('/v1/settings', { contactsEnabled: true, calendarEnabled: true })
    expect(await halves()).toMatchObject([{ kind: 'calendar' }, { kind: 'contacts' }])
  })

  test('has both from the beginning if it is connected with contacts and calendars', async () => {
    const tenant = await service.newTenant()
    await tenant.patch('/v1/settings', { contactsEnabled: true, calendarEnabled: true })
    const account = await inTransaction(tenant.db, tenant.tenantId, unit =>
      insertAccount(unit, {
        id: newId(),
        provider: 'imap',
        auth_method: 'password',
        email: `${newId()}@example.com`,
        display_name: null,
        external_ref: null,
        settings_override: {},
        imap: SERVERS,
        data_key: null,
      }),
    )
    expect(account?.other_halves).toMatchObject([{ kind: 'calendar' }, { kind: 'contacts' }])
  })
})
