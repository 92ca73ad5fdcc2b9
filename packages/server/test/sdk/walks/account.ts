import { expect } from 'vitest'
import type { SdkWorld } from './world.ts'

/** Reads and changes an account. */
export async function walkAccount({ waxwing, check, account }: SdkWorld): Promise<void> {
  const { accountId, email } = await account()
  const path = `/accounts/${accountId}` as const
  const change = { externalRef: 'Ада & co', settings: { undoSendSeconds: 5 } }
  await check(
    'accounts.update',
    `PATCH ${path}`,
    () => waxwing.accounts.update({ accountId, ...change }),
    change,
  )
  const query = `q=${encodeURIComponent(email)}&status=active&limit=3`
  const { items } = await check('accounts.list', `GET /accounts?${query}`, () =>
    waxwing.accounts.list({ q: email, status: 'active', limit: 3 }),
  )
  expect(items.map(({ externalRef }) => externalRef)).toEqual(['Ада & co'])
  await check('accounts.get', `GET ${path}`, () => waxwing.accounts.get({ accountId }))
  const kinds = { kinds: ['mail' as const] }
  await check(
    'accounts.sync',
    `POST ${path}/sync`,
    () => waxwing.accounts.sync({ accountId, ...kinds }),
    kinds,
  )
  const ttl = { ttlSeconds: 60 }
  await check(
    'accounts.createToken',
    `POST ${path}/tokens`,
    () => waxwing.accounts.createToken({ accountId, ...ttl }),
    ttl,
  )
  const settings = { appendSent: true }
  await check(
    'accounts.updateImapSettings',
    `PATCH ${path}/imap-settings`,
    () => waxwing.accounts.updateImapSettings({ accountId, ...settings }),
    settings,
  )
  const sign = { signByDefault: false }
  await check(
    'mailSettings.update',
    `PATCH ${path}/mail-settings`,
    () => waxwing.mailSettings.update({ accountId, ...sign }),
    sign,
  )
  await check('mailSettings.get', `GET ${path}/mail-settings`, () => waxwing.mailSettings.get({ accountId }))
  await check('integrity.get', `GET ${path}/integrity?refresh=false`, () =>
    waxwing.integrity.get({ accountId, refresh: false }),
  )

  const identity = { address: 'news@example.org', name: 'News' }
  const { id: identityId } = await check(
    'identities.create',
    `POST ${path}/identities`,
    () => waxwing.identities.create({ accountId, ...identity }),
    identity,
  )
  const signature = { signature: null }
  await check(
    'identities.update',
    `PATCH ${path}/identities/${identityId}`,
    () => waxwing.identities.update({ accountId, identityId, ...signature }),
    signature,
  )
  const identities = await check('identities.list', `GET ${path}/identities`, () =>
    waxwing.identities.list({ accountId }),
  )
  expect(identities.items.map(({ address }) => address)).toEqual([email, 'news@example.org'])
  await check('identities.delete', `DELETE ${path}/identities/${identityId}`, () =>
    waxwing.identities.delete({ accountId, identityId }),
  )
}
