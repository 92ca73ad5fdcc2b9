import { expect, test } from 'vitest'
import { projectOf } from '../../src/providers/google/project.ts'
import { openTestApp } from '../open-app.ts'
import { startSandbox } from '../servers/sandbox.ts'
import { SCOPES } from './gmail-client.ts'

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

test.each([
  ['1072944905499-abc123.apps.googleusercontent.com', '1072944905499'],
  ['1072944905499-xyz789.apps.googleusercontent.com', '1072944905499'],
  ['1072944905499.apps.googleusercontent.com', '1072944905499'],
  ['1072944905499-abc123.apps.googleusercontent.com.evil.test', expect.stringContaining('evil.test')],
  ['sandbox', 'sandbox'],
])('the project of the client %s is %s', (clientId, project) => {
  expect(projectOf(clientId)).toEqual(project)
})
