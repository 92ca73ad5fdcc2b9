import { describe, expect, test } from 'vitest'
import { openTestApp } from '../../../../test/open-app.ts'
import { sampleAccount } from '../../../../test/sample-rows.ts'
import { requireSender } from './access.ts'

describe('requireSender', () => {
  test('finds the identity of From, with the name and the signature to show', async () => {
    await using app = await openTestApp()
    const email = 'ada@example.com'
    const { id } = await sampleAccount(app.db, app.tenantId, { email, display_name: 'Ada' })
    const beside = await sampleAccount(app.db, app.tenantId, { email: 'grace@example.com' })
    const path = (accountId: string) => `/v1/accounts/${accountId}/identities`
    await app.patch(`${path(id)}/${id}`, { signature: { text: 'Ada' } })
    const sales = {
      address: 'Sales@Bücher.example',
      name: 'Sales',
      signature: { html: '<b>S</b>', text: null },
    }
    const { body } = await app.post(path(id), sales)
    await app.post(path(beside.id), { address: 'beside@example.com' })

    const account = { id, email, display_name: 'Ada' }
    const own = { identityId: id, address: email, name: 'Ada', signature: { html: null, text: 'Ada' } }
    const added = { identityId: body['id'], ...sales }
    const from = (address: string, name?: string | null) => requireSender(app.db, account, { address, name })
    expect(await requireSender(app.db, account, null)).toEqual(own)
    expect(await from('ADA@example.com')).toEqual(own)
    expect(await from('ada@example.com', 'Countess')).toEqual({ ...own, name: 'Countess' })
    expect(await from('sales@xn--bcher-kva.example', '')).toEqual(added)
    expect(await from('SALES@BÜCHER.example', 'Bookshop')).toEqual({ ...added, name: 'Bookshop' })
    expect(await requireSender(app.db, { ...account, display_name: null }, null)).toMatchObject({
      name: null,
    })

    for (const address of [
      'ada+x@example.com',
      'a.da@example.com',
      'beside@example.com',
      'sales@example.com',
    ])
      await expect(from(address)).rejects.toMatchObject({ reason: 'from_not_allowed', status: 400 })
  })
})
