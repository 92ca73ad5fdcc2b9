import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { TestTenant } from '../../../../test/open-app.ts'
import { sampleAccount } from '../../../../test/sample-rows.ts'
import { countEvents, insertShared, statusesOf } from '../../../../test/tokens/shared-mailboxes.ts'
import { useTestApp } from '../../../../test/use-app.ts'
import { waitUntil } from '../../../../test/wait-until.ts'

const service = useTestApp(() => ({
  roles: ['api', 'jobs'],
  config: { baseUrl: 'https://mail.example.com' },
}))

async function openDelegate(app: TestTenant, count: number) {
  const { id } = await sampleAccount(app.db, app.tenantId)
  return { id, sharedIds: await insertShared(app.db, { id, tenantId: app.tenantId }, count) }
}

const listed = async (app: TestTenant, query: string) => {
  const { status, body } = await app.get<{ items: Account[] }>(`/v1/accounts?${query}`)
  expect(status).toBe(200)
  return body.items
}

test('lists the shared mailboxes of a delegate, and shows which account opens each', async () => {
  const app = await service.newTenant()
  const { id, sharedIds } = await openDelegate(app, 2)
  await openDelegate(app, 1)
  const shared = await listed(app, `delegateAccountId=${id}`)
  expect(shared.map(account => account.id).toSorted()).toEqual(sharedIds)
  expect(shared[0]?.auth).toEqual({ method: 'delegate', delegateAccountId: id })
  expect(await listed(app, `delegateAccountId=${id}&status=paused`)).toEqual([])
  expect(await listed(app, `delegateAccountId=${sharedIds[0]}`)).toEqual([])
  const { body: delegate } = await app.get<Account>(`/v1/accounts/${id}`)
  expect(delegate.auth).toEqual({ method: 'password' })
  const other = await service.newTenant()
  expect(await listed(other, `delegateAccountId=${id}`)).toEqual([])
})

test('stops shared mailboxes once their delegate was deleted, and none when it is paused', async () => {
  const app = await service.newTenant()
  const { id, sharedIds } = await openDelegate(app, 3)
  const [paused, ...others] = sharedIds
  expect((await app.patch(`/v1/accounts/${paused}`, { status: 'paused' })).status).toBe(200)
  expect((await app.patch(`/v1/accounts/${id}`, { status: 'paused' })).status).toBe(200)
  const statuses = () => statusesOf(app.db, id)
  expect(await statuses()).toEqual(['paused paused_by_user', 'active', 'active'])
  expect((await app.delete(`/v1/accounts/${id}`)).status).toBe(200)
  const lost = 'reauth_required delegate_deleted'
  await waitUntil('the others to stop', async () => !(await statuses()).includes('active'))
  expect(await statuses()).toEqual(['paused paused_by_user', lost, lost])
  expect(await countEvents(app.db, others, 'account.reauth_required')).toEqual([1, 1])
  const { rows } = await sql<{ reason: string }>`
    select data ->> 'reason' as reason from event where type = 'account.reauth_required' and account_id = ${others[0]}
  `.execute(app.db)
  expect(rows).toEqual([{ reason: 'delegate_deleted' }])
  expect((await app.patch(`/v1/accounts/${others[0]}`, { status: 'active' })).body).toMatchObject({
    code: 'account_reauth_required',
  })
})

test('deletes a shared mailbox, and leaves its delegate and the others alone', async () => {
  const app = await service.newTenant()
  const { id, sharedIds } = await openDelegate(app, 2)
  expect((await app.delete(`/v1/accounts/${sharedIds[0]}`)).status).toBe(200)
  expect(await statusesOf(app.db, id)).toEqual(['active'])
  expect((await listed(app, 'status=active')).map(account => account.id).toSorted()).toEqual(
    [id, sharedIds[1]].toSorted(),
  )
})

test('another secret of the app of a delegate restarts its shared mailboxes that were refused for the old one', async () => {
  const app = await service.newTenant()
  const { body: made } = await app.post<{ id: string }>('/v1/oauth-apps', {
    provider: 'google',
    name: 'Ours',
    clientId: 'id.apps.googleusercontent.com',
    clientSecret: 'secret',
  })
  const { id, sharedIds } = await openDelegate(app, 2)
  await openDelegate(app, 1)
  await sql`update account set oauth_app_id = ${made.id} where id = ${id}`.execute(app.db)
  await sql`update account_half set problem = 'invalid_client' where account_id = ${sharedIds[0]}`.execute(
    app.db,
  )
  expect((await app.patch(`/v1/oauth-apps/${made.id}`, { clientSecret: 'new' })).status).toBe(200)
  const { rows } = await sql<{ id: string }>`
    select account_id as id from account_half where tenant_id = ${app.tenantId} and 'restart' = any(sync_wanted)
  `.execute(app.db)
  expect(rows).toEqual([{ id: sharedIds[0] }])
})
