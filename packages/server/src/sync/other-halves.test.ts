/** @module-tag postgres-16 */
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { type SharedApp, useTestApp } from '../../test/use-app.ts'
import { sampleAccount } from '../../test/sample-rows.ts'
import { claimAccounts } from '../accounts/halves/ownership.ts'
import { recordRuntime } from '../accounts/halves/report.ts'
import { takeWanted } from '../accounts/halves/wanted.ts'
import { newId } from '../kit/ids.ts'
import { recordClosed, recordProblem, recordRefusedGrant } from './trouble.ts'

const service = useTestApp()

/** An account that has calendars as well, as a second follower would find it, owned by an instance of this test. */
async function openAccount({ newTenant }: SharedApp) {
  const tenant = await newTenant()
  const { db, tenantId } = tenant
  const { id } = await sampleAccount(db, tenantId)
  await sql`
    insert into account_half (account_id, tenant_id, kind, stamp) values (${id}, ${tenantId}, 'calendar', 7)
  `.execute(db)
  const instanceId = newId()
  const heartbeat_until = new Date(Date.now() + 50_000)
  await db.insertInto('instance').values({ id: instanceId, heartbeat_until }).execute()
  const claimed = await claimAccounts(db, instanceId, 100)
  const owned = claimed.find(account => account.id === id)!
  return {
    tenant,
    db,
    owned,
    version: '7',
    read: async () => (await tenant.get<Account>(`/v1/accounts/${id}`)).body,
  }
}

describe('another half than mail', () => {
  test.each([
    ['whose login is refused', 'login_failed', 'dav_login_failed'],
    ['for which a scope is missing', 'scope_missing', 'scope_missing'],
  ] as const)('%s is a problem of itself, and the account stays active', async (_, reason, problem) => {
    const { db, owned, version, read } = await openAccount(service)
    await recordRefusedGrant(db, owned, 'calendar', { reason, version })
    expect(await read()).toMatchObject({ status: 'active', statusReason: problem })
    await recordProblem(db, owned, { kind: 'mail', problem: null })
    expect(await read()).toMatchObject({ status: 'active', statusReason: problem })
    await recordProblem(db, owned, { kind: 'calendar', problem: null })
    expect(await read()).toMatchObject({ status: 'active', statusReason: null })
  })

  test('that is closed is a problem of itself', async () => {
    const { db, owned, read } = await openAccount(service)
    await recordClosed(db, owned, 'calendar', null)
    expect(await read()).toMatchObject({ status: 'active', statusReason: 'provider_not_found' })
  })

  test('whose grant is refused stops the account', async () => {
    const { db, owned, version, read } = await openAccount(service)
    await recordRefusedGrant(db, owned, 'calendar', { reason: 'invalid_grant', version })
    expect(await read()).toMatchObject({ status: 'reauth_required', statusReason: 'invalid_grant' })
  })

  test('whose grant was refused before it was reached in another way stops nothing', async () => {
    const { db, owned, version, read } = await openAccount(service)
    await sql`
      update account_half set stamp = stamp + 1 where account_id = ${owned.id} and kind = 'calendar'
    `.execute(db)
    await recordRefusedGrant(db, owned, 'calendar', { reason: 'invalid_grant', version })
    expect(await read()).toMatchObject({ status: 'active', statusReason: null })
  })

  test('is named by its problem only while mail has none, and the problems of both end with a pause', async () => {
    const { db, owned, tenant, read } = await openAccount(service)
    await recordProblem(db, owned, { kind: 'calendar', problem: 'server_not_allowed' })
    await recordProblem(db, owned, { kind: 'mail', problem: 'invalid_client' })
    expect((await read()).statusReason).toBe('invalid_client')
    await recordProblem(db, owned, { kind: 'mail', problem: null })
    expect((await read()).statusReason).toBe('server_not_allowed')
    await tenant.patch(`/v1/accounts/${owned.id}`, { status: 'paused' })
    const active = await tenant.patch<Account>(`/v1/accounts/${owned.id}`, { status: 'active' })
    expect(active.body.statusReason).toBeNull()
    expect((await read()).statusReason).toBeNull()
  })

  test('is named by runtime.detail while it is behind or fails', async () => {
    const { db, owned, read } = await openAccount(service)
    await recordRuntime(db, owned, 'mail', { state: 'live', detail: 'the inbox is watched', isSuccess: true })
    await recordRuntime(db, owned, 'calendar', { state: 'backoff', detail: 'timeout', isSuccess: false })
    expect((await read()).runtime).toMatchObject({
      state: 'live',
      detail: 'the inbox is watched; calendar: timeout',
    })
    await recordRuntime(db, owned, 'calendar', { state: 'live', detail: 'watched', isSuccess: true })
    expect((await read()).runtime).toMatchObject({ state: 'live', detail: 'the inbox is watched' })
  })

  test('shows when its first sync was complete', async () => {
    const { db, owned, read } = await openAccount(service)
    expect(await read()).toMatchObject({ calendarInitializedAt: null, contactsInitializedAt: null })
    await sql`
      update account_half set initialized_at = '2026-01-02T03:04:05.678Z'
      where account_id = ${owned.id} and kind = 'calendar'
    `.execute(db)
    expect((await read()).calendarInitializedAt).toBe('2026-01-02T03:04:05.678Z')
  })

  test('has wants of its own, is claimed and let go with the account, and fenced like mail', async () => {
    const { db, owned, tenant } = await openAccount(service)
    await sql`
      update account_half set sync_wanted = '{calendar}' where account_id = ${owned.id} and kind = 'calendar'
    `.execute(db)
    expect((await takeWanted(db, owned, 'mail')).wanted).toEqual([])
    expect((await takeWanted(db, owned, 'calendar')).wanted).toEqual(['calendar'])
    await tenant.patch(`/v1/accounts/${owned.id}`, { status: 'paused' })
    await expect(takeWanted(db, owned, 'calendar')).rejects.toThrow('no longer owned')
    await expect(takeWanted(db, owned, 'mail')).rejects.toThrow('no longer owned')
    await tenant.patch(`/v1/accounts/${owned.id}`, { status: 'active' })
    expect((await takeWanted(db, owned, 'calendar')).wanted).toEqual([])
  })
})
