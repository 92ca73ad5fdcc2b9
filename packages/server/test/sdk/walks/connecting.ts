import { expect } from 'vitest'
import { SCOPES } from '../../gmail/gmail-client.ts'
import { addOfficeUser, refreshTokenOf } from '../../graph/delegates.ts'
import type { SdkWorld } from './world.ts'

const DONE = 'https://app.example.com/done'

/** Connects mailboxes in every way, and deletes them. */
export async function walkConnecting(world: SdkWorld): Promise<void> {
  const { waxwing, check, sandbox, dovecot, serversOf } = world
  const user = await dovecot.addUser()
  const form = { email: user.email, password: user.password, ...serversOf(user) }
  const account = await check(
    'accounts.createImap',
    'POST /imap-accounts',
    () => waxwing.accounts.createImap(form),
    form,
  )
  expect(account).toMatchObject({ email: user.email, provider: 'imap' })

  await sandbox.addUser('lovelace@gmail.test')
  const { refreshToken } = await sandbox.grant('lovelace@gmail.test', SCOPES)
  const token = { provider: 'google' as const, refreshToken }
  const google = await check(
    'accounts.connect',
    'POST /accounts',
    () => waxwing.accounts.connect(token),
    token,
  )

  const eva = await addOfficeUser(sandbox, { name: 'eva' })
  const desk = await addOfficeUser(sandbox, { name: 'desk', delegates: [eva] })
  const delegate = await waxwing.accounts.connect({
    provider: 'microsoft',
    refreshToken: await refreshTokenOf(sandbox, eva),
    settings: { sharedMailboxesEnabled: true },
  })
  const shared = await check(
    'sharedMailboxes.add',
    `POST /accounts/${delegate.id}/shared-mailboxes`,
    () => waxwing.sharedMailboxes.add({ accountId: delegate.id, email: desk }),
    { email: desk },
  )
  expect(shared.email).toBe(desk)
  for (const accountId of [shared.id, delegate.id, google.id])
    await check('accounts.delete', `DELETE /accounts/${accountId}?purge=true`, () =>
      waxwing.accounts.delete({ accountId, purge: true }),
    )

  await walkApps(world)
  await walkLinks(world)
}

async function walkApps({ waxwing, check }: SdkWorld): Promise<void> {
  const app = { provider: 'google' as const, name: 'Ours', clientId: 'ours', clientSecret: 'secret' }
  const { id: appId } = await check(
    'oauthApps.create',
    'POST /oauth-apps',
    () => waxwing.oauthApps.create(app),
    app,
  )
  const change = { name: 'Mine' }
  await check(
    'oauthApps.update',
    `PATCH /oauth-apps/${appId}`,
    () => waxwing.oauthApps.update({ appId, ...change }),
    change,
  )
  const read = await check('oauthApps.get', `GET /oauth-apps/${appId}`, () =>
    waxwing.oauthApps.get({ appId }),
  )
  expect(read.name).toBe('Mine')
  const { items } = await check('oauthApps.list', 'GET /oauth-apps', () => waxwing.oauthApps.list())
  expect(items.map(({ id }) => id)).toContain(appId)
  await check('oauthApps.delete', `DELETE /oauth-apps/${appId}`, () => waxwing.oauthApps.delete({ appId }))
}

async function walkLinks({ waxwing, hosted, check, dovecot, serversOf }: SdkWorld): Promise<void> {
  await waxwing.settings.update({ redirectUris: [DONE] })
  const asked = { provider: 'google' as const, redirectUri: DONE }
  await check(
    'connectSessions.authorize',
    'POST /oauth-authorizations',
    () => waxwing.connectSessions.authorize(asked),
    asked,
  )
  const session = { externalRef: 'customer 7', redirectUri: DONE }
  const made = await check(
    'connectSessions.create',
    'POST /connect-sessions',
    () => waxwing.connectSessions.create(session),
    session,
  )
  const token = made.url.slice(made.url.lastIndexOf('/') + 1)
  const path = `/hosted/connect-sessions/${token}` as const
  await check('hostedConnectSessions.get', `GET ${path}`, () => hosted.hostedConnectSessions.get({ token }))
  const email = 'ada+figures@company.test'
  const query = `email=${encodeURIComponent(email)}`
  await check('autoconfig.find', `GET /autoconfig?${query}`, () => waxwing.autoconfig.find({ email }))
  await check('hostedConnectSessions.findServers', `GET ${path}/autoconfig?${query}`, () =>
    hosted.hostedConnectSessions.findServers({ token, email }),
  )
  const guest = await dovecot.addUser()
  const form = { email: guest.email, password: guest.password, ...serversOf(guest) }
  await check(
    'hostedConnectSessions.connectImap',
    `POST ${path}/imap-accounts`,
    () => hosted.hostedConnectSessions.connectImap({ token, ...form }),
    form,
  )
  const ended = await check('connectSessions.get', `GET /connect-sessions/${made.id}`, () =>
    waxwing.connectSessions.get({ sessionId: made.id }),
  )
  expect(ended).toMatchObject({ status: 'completed' })
}
