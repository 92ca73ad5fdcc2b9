import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { sampleAccount, sampleGrant } from '../../../../test/sample-rows.ts'
import { useTestApp } from '../../../../test/use-app.ts'
import { followPage } from '../../../accounts/shared/follow-delegate.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import type { AccountKind } from '../../../providers/abilities.ts'

const service = useTestApp()
const GOOGLE = 'https://www.googleapis.com/auth/'
const GRAPH = 'https://graph.microsoft.com/'

/** An account of a tenant that has contacts and calendars on, with a grant of these scopes besides mail. */
async function openGranted(provider: AccountKind, scopes: readonly string[]) {
  const tenant = await service.newTenant()
  await tenant.patch('/v1/settings', { contactsEnabled: true, calendarEnabled: true })
  const { db, tenantId } = tenant
  const { id } = await sampleAccount(db, tenantId, {
    provider,
    auth_method: 'oauth',
    imap: null,
    settings_override: '{}',
  })
  await sampleGrant(db, id, scopes)
  return {
    tenant,
    id,
    read: async () => (await tenant.get<Account>(`/v1/accounts/${id}`)).body,
    set: (settings: object) => tenant.patch(`/v1/accounts/${id}`, { settings }),
    create: () => tenant.post(`/v1/accounts/${id}/contacts`, { displayName: 'Ada' }),
  }
}

describe.each<[AccountKind, { reads: string; writes: string; neither: string }]>([
  [
    'gmail',
    {
      reads: `${GOOGLE}contacts.readonly`,
      writes: `${GOOGLE}contacts`,
      neither: `${GOOGLE}contacts.other.readonly`,
    },
  ],
  [
    'graph',
    {
      reads: `${GRAPH}Contacts.Read`,
      writes: `${GRAPH}Contacts.ReadWrite`,
      neither: `${GRAPH}Calendars.ReadX`,
    },
  ],
])('the contacts of an account of %s', (provider, { reads, writes, neither }) => {
  test('that was connected without them are off, with no half, problem or event', async () => {
    const { tenant, id, read, set, create } = await openGranted(provider, [neither])
    expect(await read()).toMatchObject({
      settings: { contactsEnabled: false, calendarEnabled: false },
      status: 'active',
      statusReason: null,
    })
    await tenant.patch('/v1/settings', { contactsEnabled: false, calendarEnabled: true })
    await tenant.patch('/v1/settings', { contactsEnabled: true })
    const { rows } = await sql`select kind from account_half where account_id = ${id}`.execute(tenant.db)
    expect(rows).toEqual([{ kind: 'mail' }])
    const events = await sql`select type from event where account_id = ${id}`.execute(tenant.db)
    expect(events.rows).toEqual([])
    expect(await set({ contactsEnabled: true })).toMatchObject({
      status: 400,
      body: { code: 'scope_missing' },
    })
    expect((await read()).settingsOverride).toEqual({})
    expect(await create()).toMatchObject({ status: 409, body: { code: 'contacts_disabled' } })
  })

  test('are on with a grant that reads, which does not allow them to be changed', async () => {
    const { read, set, create } = await openGranted(provider, [reads])
    expect((await read()).settings).toMatchObject({ contactsEnabled: true, calendarEnabled: false })
    expect((await set({ contactsEnabled: true })).status).toBe(200)
    expect(await create()).toMatchObject({ status: 400, body: { code: 'scope_missing' } })
  })

  test('are on with a grant that writes', async () => {
    const { read } = await openGranted(provider, [writes])
    expect((await read()).settings).toMatchObject({ contactsEnabled: true, calendarEnabled: false })
  })
})

test('contacts of a shared mailbox need the scope for those of others', async () => {
  const { tenant, id: delegateId } = await openGranted('graph', [`${GRAPH}Contacts.ReadWrite`])
  const { db, tenantId } = tenant
  const { id } = await sampleAccount(db, tenantId, {
    provider: 'graph',
    auth_method: 'delegate',
    delegate_account_id: delegateId,
    imap: null,
    settings_override: '{}',
  })
  const isOn = async () => (await tenant.get<Account>(`/v1/accounts/${id}`)).body.settings.contactsEnabled
  expect(await isOn()).toBe(false)
  await sampleGrant(db, delegateId, [`${GRAPH}Contacts.Read.Shared`])
  expect(await isOn()).toBe(true)
  expect(await tenant.post(`/v1/accounts/${id}/contacts`, { displayName: 'Ada' })).toMatchObject({
    status: 400,
    body: { code: 'scope_missing' },
  })
})

test('a shared mailbox gets its contacts with a new grant of its delegate, announced once', async () => {
  const { tenant, id: delegateId } = await openGranted('graph', [`${GRAPH}Mail.ReadWrite.Shared`])
  const { db, tenantId } = tenant
  const { id } = await sampleAccount(db, tenantId, {
    provider: 'graph',
    auth_method: 'delegate',
    delegate_account_id: delegateId,
    imap: null,
    settings_override: '{}',
  })
  const follow = () => inTransaction(db, tenantId, unit => followPage(unit, delegateId))
  const halves = async () =>
    (
      await sql<{ kind: string }>`
        select kind from account_half where account_id = ${id} and kind <> 'mail'`.execute(db)
    ).rows.map(({ kind }) => kind)
  const changes = async () =>
    (
      await sql<{ changes: string[]; isOn: boolean }>`
        select data -> 'changes' as changes,
          (data -> 'account' -> 'settings' ->> 'contactsEnabled')::boolean as "isOn"
        from event where account_id = ${id}`.execute(db)
    ).rows
  await follow()
  expect(await halves()).toEqual([])
  expect(await changes()).toEqual([])

  await sampleGrant(db, delegateId, [`${GRAPH}Mail.ReadWrite.Shared`, `${GRAPH}Contacts.ReadWrite.Shared`])
  await follow()
  await follow()
  expect(await halves()).toEqual(['contacts'])
  expect(await changes()).toEqual([{ changes: ['settings'], isOn: true }])
})
