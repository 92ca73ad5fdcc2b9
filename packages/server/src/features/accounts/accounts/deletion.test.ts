import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { accountCount, eventsOf } from '../../../../test/imap-accounts.ts'
import { sampleAccount } from '../../../../test/sample-rows.ts'
import { useTestApp } from '../../../../test/use-app.ts'
import { newId } from '../../../kit/ids.ts'

const { newTenant } = useTestApp()

describe('DELETE /v1/accounts/{accountId}', () => {
  test('removes secrets and tokens at once, announces it once, and answers null again', async () => {
    const app = await newTenant()
    const { id } = await sampleAccount(app.db, app.tenantId, {
      email: 'ada@example.com',
      external_ref: 'crm-1',
    })
    await app.db
      .insertInto('account_secret')
      .values({ account_id: id, name: 'imap_password', sealed: Buffer.of(1) })
      .execute()
    await app.post(`/v1/accounts/${id}/tokens`)

    const answers = [await app.delete(`/v1/accounts/${id}`), await app.delete(`/v1/accounts/${id}`)]

    expect(answers.map(({ status, body }) => [status, body])).toEqual([
      [200, null],
      [200, null],
    ])
    expect(await eventsOf(app)).toMatchObject([
      { type: 'account.deleted', accountId: id, data: { email: 'ada@example.com', externalRef: 'crm-1' } },
    ])
    for (const table of ['account_secret', 'account_token'] as const) {
      expect(await app.db.selectFrom(table).where('account_id', '=', id).selectAll().execute()).toEqual([])
    }
    for (const answer of [
      await app.get(`/v1/accounts/${id}`),
      await app.patch(`/v1/accounts/${id}`, {}),
      await app.post(`/v1/accounts/${id}/sync`),
      await app.post(`/v1/accounts/${id}/tokens`),
      await app.patch(`/v1/accounts/${id}/imap-settings`, {}),
      await app.get(`/v1/accounts/${id}/messages`),
    ]) {
      expect(answer).toMatchObject({ status: 404, body: { code: 'account_not_found' } })
    }
    expect(await accountCount(app)).toBe(0)
  })

  test('keeps indexed data for 30 days, or deletes it soon', async () => {
    const app = await newTenant()
    const { id } = await sampleAccount(app.db, app.tenantId)
    const dueInDays = async () => {
      const days = sql<number>`round(extract(epoch from purge_after - now()) / 86400)::integer`
      const account = app.db.selectFrom('account').select(days.as('days')).where('id', '=', id)
      return (await account.executeTakeFirstOrThrow()).days
    }

    await app.delete(`/v1/accounts/${id}`)
    expect(await dueInDays()).toBe(30)
    await app.delete(`/v1/accounts/${id}?purge=true`)
    expect(await dueInDays()).toBe(0)
    await app.delete(`/v1/accounts/${id}?purge=false`)
    expect(await dueInDays()).toBe(0)
    expect((await app.delete(`/v1/accounts/${id}?purge=yes`)).body['code']).toBe('invalid_input')
  })

  test('refuses accounts of another tenant, and accounts that a bound key may not see', async () => {
    const app = await newTenant()
    const { id } = await sampleAccount(app.db, app.tenantId)
    const other = await app.createTenant()
    const bound = app.as((await app.createKey({ accountIds: [newId()] })).text)

    for (const caller of [other, bound]) {
      expect((await caller.delete(`/v1/accounts/${id}?purge=true`)).body['code']).toBe('account_not_found')
    }
    expect(await accountCount(app)).toBe(1)
  })
})
