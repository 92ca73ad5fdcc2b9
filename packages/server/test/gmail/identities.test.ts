import type { Identity } from '@waxwing/contract/mail/identities.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { send, waitForStatus } from '../sending/open-sending.ts'
import { useServer } from '../servers/shared-server.ts'
import { SCOPES } from './gmail-client.ts'
import { connectGmail, type GmailAccount, openGmailApp } from './open-gmail-app.ts'

const MODIFY = 'https://www.googleapis.com/auth/gmail.modify'
const SHARING = 'https://www.googleapis.com/auth/gmail.settings.sharing'

const opened = useServer(() => openGmailApp())

/** Sends requests with the rights of an administrator of the mailbox. */
async function asAdministrator({ email }: GmailAccount) {
  const { sandbox } = opened()
  const { accessToken } = await sandbox.grant(email, [...SCOPES, SHARING])
  return async (method: string, path: string, body?: object) => {
    const response = await fetch(
      `${sandbox.origin('gmail.googleapis.com')}/gmail/v1/users/me/settings/sendAs${path}`,
      {
        method,
        headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      },
    )
    if (!response.ok) throw new Error(`${response.status} ${await response.text()}`)
  }
}

async function identitiesOf(
  account: GmailAccount,
  query = '',
): Promise<{ items: Identity[]; refreshedAt: string | null }> {
  const { body } = await opened().app.get<{ items: Identity[]; refreshedAt: string | null }>(
    `${account.path}/identities${query}`,
  )
  return body
}

/** Lets the list that was read grow old. */
const age = ({ accountId }: GmailAccount, minutes = 25 * 60) =>
  sql`
    update mail_settings set identities_read_at = identities_read_at - make_interval(mins => ${minutes}),
      identities_asked_at = identities_asked_at - make_interval(mins => ${minutes})
    where account_id = ${accountId}
  `.execute(opened().app.db)

describe.concurrent('identities of a Gmail account', () => {
  test('are those that Gmail offers, with their signatures, read again after a day or when asked', async () => {
    const { app } = opened()
    const account = await connectGmail(opened())
    const administer = await asAdministrator(account)
    await administer('PATCH', `/${account.email}`, { signature: '<b>Ada</b>' })
    await administer('POST', '', {
      sendAsEmail: 'sales@gmail.test',
      displayName: 'Sales',
      signature: '<i>Sales</i>',
    })
    await administer('POST', '', { sendAsEmail: 'pending@elsewhere.test' })

    const first = await identitiesOf(account)
    expect(first.items).toMatchObject([
      {
        id: account.accountId,
        source: 'primary',
        signature: null,
        providerSignature: { html: '<b>Ada</b>', text: 'Ada' },
      },
      {
        source: 'provider',
        address: 'sales@gmail.test',
        name: 'Sales',
        providerSignature: { html: '<i>Sales</i>' },
      },
    ])
    expect(first.items).toHaveLength(2)
    const sales = first.items[1]!

    await administer('DELETE', '/sales@gmail.test')
    expect((await identitiesOf(account, '?refresh=true')).items).toHaveLength(2)
    await age(account, 2)
    expect((await identitiesOf(account)).items).toHaveLength(2)
    const second = await identitiesOf(account, '?refresh=true')
    expect(second.items).toHaveLength(1)
    expect(Date.parse(second.refreshedAt!)).toBeGreaterThan(Date.parse(first.refreshedAt!))
    expect(await app.patch(`${account.path}/identities/${sales.id}`, { signature: null })).toMatchObject({
      status: 400,
      body: { code: 'identity_unavailable' },
    })
    await administer('POST', '', { sendAsEmail: 'sales@gmail.test', displayName: 'Sales again' })
    await age(account)
    expect((await identitiesOf(account)).items[1]).toMatchObject({ id: sales.id, name: 'Sales again' })
  })

  test('are managed by Gmail, but for the signature that is set here', async () => {
    const { app } = opened()
    const account = await connectGmail(opened())
    await (
      await asAdministrator(account)
    )('POST', '', { sendAsEmail: `alias-of-${account.email}` })
    const alias = (await identitiesOf(account)).items[1]!
    const path = `${account.path}/identities`
    expect(await app.post(path, { address: 'x@example.com' })).toMatchObject({
      status: 400,
      body: { code: 'identities_managed_by_provider' },
    })
    for (const id of [alias.id, account.accountId]) {
      const isOfGmail = { status: 400, body: { code: 'identity_not_custom' } }
      expect(await app.patch(`${path}/${id}`, { name: 'x' })).toMatchObject(isOfGmail)
      expect(await app.delete(`${path}/${id}`)).toMatchObject(isOfGmail)
      expect(await app.patch(`${path}/${id}`, { signature: { text: 'ours' } })).toMatchObject({
        status: 200,
        body: { signature: { text: 'ours' } },
      })
    }
  })

  test('sign and may be sent from, before anybody has listed them', async () => {
    const { app } = opened()
    const account = await connectGmail(opened())
    const alias = `from-${account.email}`
    await (
      await asAdministrator(account)
    )('POST', '', { sendAsEmail: alias, displayName: 'Alias', signature: '<i>signed by Gmail</i>' })
    const entry = await send(app, account.accountId, {
      from: { address: alias },
      html: '<p>Hi</p>',
      text: undefined,
      sign: true,
    })
    expect(entry.from).toEqual({ address: alias, name: 'Alias' })
    await waitForStatus(app, entry, 'sent')
    const [copy] = await account.client.messages()
    expect(await account.client.rawOf(copy!.id)).toContain('signed by Gmail')
    expect(
      await app.post(`${account.path}/outbox`, {
        to: [{ address: 'x@example.com' }],
        from: { address: 'no@gmail.test' },
        text: 'x',
      }),
    ).toMatchObject({
      status: 400,
      body: { code: 'from_not_allowed' },
    })
  })

  test('are no more than that of the account where reading the others was not granted', async () => {
    const { app } = opened()
    const account = await connectGmail(opened(), undefined, [MODIFY])
    const alias = `alias-of-${account.email}`
    await (
      await asAdministrator(account)
    )('POST', '', { sendAsEmail: alias })
    const { items, refreshedAt } = await identitiesOf(account, '?refresh=true')
    expect(items).toMatchObject([
      { id: account.accountId, source: 'primary', address: account.email, providerSignature: null },
    ])
    expect(items).toHaveLength(1)
    expect(refreshedAt).not.toBeNull()
    expect(
      await app.post(`${account.path}/outbox`, {
        to: [{ address: 'x@example.com' }],
        from: { address: alias },
        text: 'x',
      }),
    ).toMatchObject({ status: 400, body: { code: 'from_not_allowed' } })
    await waitForStatus(app, await send(app, account.accountId), 'sent')
    expect((await app.get<{ status: string }>(account.path)).body.status).toBe('active')
  })

  // A fault strikes the calls of every account.
  test('are those that were read last while Gmail cannot be asked', { concurrent: false }, async () => {
    const { app, sandbox } = opened()
    const other = await connectGmail(opened())
    await sandbox.addFault({
      does: 'error',
      status: 503,
      host: 'gmail.googleapis.com',
      path: '/gmail/v1/users/me/settings/*',
    })
    expect(await identitiesOf(other)).toMatchObject({ items: [{ source: 'primary' }], refreshedAt: null })
    await sandbox.clearFaults()
    await age(other)
    expect((await identitiesOf(other)).refreshedAt).not.toBeNull()
    await app.patch(other.path, { status: 'paused' })
    await age(other)
    expect((await identitiesOf(other, '?refresh=true')).items).toHaveLength(1)
  })
})
