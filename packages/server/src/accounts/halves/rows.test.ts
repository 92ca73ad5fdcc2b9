/** @module-tag postgres-16 */
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { sampleAccount } from '../../../test/sample-rows.ts'
import { type SharedApp, useTestApp } from '../../../test/use-app.ts'
import { inTransaction } from '../../events/unit-of-work.ts'
import { newId } from '../../kit/ids.ts'
import { insertAccount } from '../store.ts'
import { spreadHalves } from './spread-halves.ts'

const service = useTestApp()
const NEVER = new AbortController().signal

/** An account of Google whose user has granted these halves. */
async function openAccount({ newTenant }: SharedApp, granted: { contacts: boolean }) {
  const tenant = await newTenant()
  const { db, tenantId } = tenant
  const { id } = await sampleAccount(db, tenantId, {
    provider: 'gmail',
    auth_method: 'oauth',
    imap: null,
    settings_override: '{}',
    granted_calendar: true,
    granted_contacts: granted.contacts,
  })
  return {
    tenant,
    db,
    id,
    halves: async () => {
      const { rows } = await sql<{ kind: string; owner: string | null; wanted: string[] }>`
        select kind, owner_instance as owner, sync_wanted as wanted from account_half
        where account_id = ${id} and kind <> 'mail'`.execute(db)
      return rows
    },
  }
}

describe('an account', () => {
  test('gets the half of its contacts when it switches them on, and keeps it', async () => {
    const { tenant, db, id, halves } = await openAccount(service, { contacts: true })
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

  test('gets it when its tenant switches them on', async () => {
    const { tenant, halves } = await openAccount(service, { contacts: true })
    await tenant.patch('/v1/settings', { contactsEnabled: true })
    expect(await halves()).toMatchObject([{ kind: 'contacts' }])
  })

  test('gets none without a grant, and none of calendars, which nothing follows', async () => {
    const { tenant, id, halves } = await openAccount(service, { contacts: false })
    await tenant.patch('/v1/settings', { contactsEnabled: true, calendarEnabled: true })
    expect(await halves()).toEqual([])
    expect((await tenant.get<Account>(`/v1/accounts/${id}`)).body.settings.contactsEnabled).toBe(false)
    await spreadHalves(tenant.db, () => {}, NEVER)
    expect(await halves()).toEqual([])
  })

  test('has it from the beginning if it is connected with contacts', async () => {
    const tenant = await service.newTenant()
    await tenant.patch('/v1/settings', { contactsEnabled: true })
    const account = await inTransaction(tenant.db, tenant.tenantId, unit =>
      insertAccount(unit, {
        id: newId(),
        provider: 'graph',
        auth_method: 'oauth',
        email: `${newId()}@example.com`,
        display_name: null,
        external_ref: null,
        settings_override: {},
        imap: null,
        data_key: null,
        granted_contacts: true,
      }),
    )
    expect(account?.other_halves).toMatchObject([{ kind: 'contacts' }])
  })

  test('of an earlier release gets it from the task, once, while few are in their first sync', async () => {
    const { tenant, db, id, halves } = await openAccount(service, { contacts: true })
    await sql`
      update account set settings_override = '{"contactsEnabled": true}' where id = ${id}`.execute(db)
    const woken: string[] = []
    await spreadHalves(tenant.db, accountId => void woken.push(accountId), NEVER)
    await spreadHalves(tenant.db, accountId => void woken.push(accountId), NEVER)
    expect(woken.filter(each => each === id)).toEqual([id])
    expect(await halves()).toMatchObject([{ kind: 'contacts', wanted: ['restart'] }])
  })
})
