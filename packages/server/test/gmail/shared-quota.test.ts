import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { expect, test } from 'vitest'
import { Secret } from '../../src/kit/secret.ts'
import { projectOf } from '../../src/providers/google/project.ts'
import { openTestApp } from '../open-app.ts'
import { startSandbox } from '../servers/sandbox.ts'
import { waitUntil } from '../wait-until.ts'
import { configureGmail, openGmailClient, SCOPES } from './gmail-client.ts'
import { letter } from './open-gmail-app.ts'

const READING = { host: 'gmail.googleapis.com', path: '/gmail/v1/users/me/settings/sendAs' }

test('OAuth apps of one client share the quota of its project, and those of others do not', async () => {
  await using sandbox = await startSandbox()
  await sandbox.addClient({ clientId: 'other', clientSecret: 'other-secret' })
  const config = { sandboxUrl: sandbox.controlUrl, gmailProjectUnitsPerMinute: 1 }
  await using app = await openTestApp({ config })

  const readsIdentities = async (email: string, clientId: string) => {
    await sandbox.addUser(email)
    const given = { provider: 'google', name: email, clientId, clientSecret: `${clientId}-secret` }
    const { body: made } = await app.post<{ id: string }>('/v1/oauth-apps', given)
    const { refreshToken } = await sandbox.grant(email, SCOPES, clientId)
    const connecting = { provider: 'google', refreshToken, oauthAppId: made.id }
    const connected = await app.post<{ id: string }>('/v1/accounts', connecting)
    expect(connected.status).toBe(200)
    // Takes one unit, and leaves what is stored where there is none.
    await app.get(`/v1/accounts/${connected.body.id}/identities`)
    return (await sandbox.calls({ ...READING, user: email })).items.length > 0
  }
  expect(await readsIdentities('one@gmail.test', 'sandbox')).toBe(true)
  expect(await readsIdentities('two@gmail.test', 'sandbox')).toBe(false)
  expect(await readsIdentities('three@gmail.test', 'other')).toBe(true)
})

test('of two processes, the one that follows an account may use more than half of its quota', async () => {
  await using sandbox = await startSandbox()
  await configureGmail(sandbox, { quota: 'off' })
  const config = {
    sandboxUrl: sandbox.controlUrl,
    gmailUnitsPerMinute: 2_000,
    googleClientId: 'sandbox',
    googleClientSecret: new Secret('sandbox-secret'),
  }
  await using api = await openTestApp({ config })
  await using _following = await openTestApp({
    config,
    roles: ['sync'],
    database: api.database,
    keyRing: api.keyRing,
  })
  const email = 'one@gmail.test'
  await sandbox.addUser(email)
  const client = await openGmailClient(sandbox, email)
  // They cost 1,200 units. Background work of a process with half of the quota may use 800 in a minute.
  for (let number = 0; number < 60; number += 1) await client.insert(letter(`letter ${number}`), ['INBOX'])
  const { refreshToken } = await sandbox.grant(email, SCOPES)
  const settings = { syncWindowDays: null }
  const connecting = { provider: 'google', refreshToken, settings }
  const { status, body } = await api.post<{ id: string }>('/v1/accounts', connecting)
  expect(status).toBe(200)
  await waitUntil('the first sync', async () => {
    const { body: account } = await api.get<Account>(`/v1/accounts/${body.id}`)
    expect(account.runtime?.detail ?? '').not.toContain('quota')
    return account.initializedAt
  })
})

test.each([
  ['1072944905499-abc123.apps.googleusercontent.com', '1072944905499'],
  ['1072944905499-xyz789.apps.googleusercontent.com', '1072944905499'],
  ['1072944905499.apps.googleusercontent.com', '1072944905499'],
  ['1072944905499-abc123.apps.googleusercontent.com.evil.test', expect.stringContaining('evil.test')],
  ['sandbox', 'sandbox'],
])('the project of the client %s is %s', (clientId, project) => {
  expect(projectOf(clientId)).toEqual(project)
})
