import { describe, expect, test } from 'vitest'
import { sampleAccount } from '../../../../test/sample-rows.ts'
import { useTestApp } from '../../../../test/use-app.ts'

const { newTenant } = useTestApp()

describe('the mail settings of an account', () => {
  test('start without signing, and keep their values', async () => {
    const app = await newTenant()
    const { id } = await sampleAccount(app.db, app.tenantId, { status: 'paused' })
    const beside = await sampleAccount(app.db, app.tenantId)
    const path = `/v1/accounts/${id}/mail-settings`

    expect(await app.get(path)).toMatchObject({ status: 200, body: { signByDefault: false } })
    expect((await app.patch(path, { signByDefault: true })).body).toEqual({ signByDefault: true })
    expect((await app.patch(path, {})).body).toEqual({ signByDefault: true })
    expect((await app.get(path)).body).toEqual({ signByDefault: true })
    expect((await app.get(`/v1/accounts/${beside.id}/mail-settings`)).body).toEqual({ signByDefault: false })
    expect((await app.patch(path, { signByDefault: false })).body).toEqual({ signByDefault: false })
  })

  test('and the signature of the account’s own address do not touch each other', async () => {
    const app = await newTenant()
    const { id } = await sampleAccount(app.db, app.tenantId)
    const [settings, own] = [`/v1/accounts/${id}/mail-settings`, `/v1/accounts/${id}/identities/${id}`]
    await app.patch(own, { signature: { text: 'Ada' } })
    expect((await app.get(settings)).body).toEqual({ signByDefault: false })
    await app.patch(settings, { signByDefault: true })
    expect((await app.patch(own, {})).body).toMatchObject({ signature: { text: 'Ada' } })
    await app.patch(own, { signature: null })
    expect((await app.get(settings)).body).toEqual({ signByDefault: true })
  })

  test.each<[unknown, string[]]>([
    [{ signByDefault: null }, ['signByDefault']],
    [{ signByDefault: 'true' }, ['signByDefault']],
    [{ signature: null }, ['signature']],
    [[], []],
  ])('refuse %j by the path of the wrong field', async (body, issue) => {
    const app = await newTenant()
    const { id } = await sampleAccount(app.db, app.tenantId)
    expect(await app.patch(`/v1/accounts/${id}/mail-settings`, body)).toMatchObject({
      status: 400,
      body: { code: 'invalid_input', data: { issues: [{ path: issue }] } },
    })
  })

  test('belong only to the tenant’s own accounts', async () => {
    const app = await newTenant()
    const stranger = await app.createTenant()
    const { id } = await sampleAccount(app.db, app.tenantId)
    for (const account of [id, 'malformed', '00000000-0000-7000-8000-000000000000']) {
      const path = `/v1/accounts/${account}/mail-settings`
      const unseen = { status: 404, body: { code: 'account_not_found' } }
      expect(await stranger.get(path)).toMatchObject(unseen)
      expect(await stranger.patch(path, { signByDefault: true })).toMatchObject(unseen)
    }
    expect((await app.get(`/v1/accounts/${id}/mail-settings`)).body).toEqual({ signByDefault: false })
  })
})
