import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { OAuthApp } from '@waxwing/contract/accounts/oauth-apps.ts'
import { expect, test } from 'vitest'
import { tablesWith } from '../database-text.ts'
import { type GraphApp, openGraphApp } from '../graph/open-graph-app.ts'
import { makeAppCertificate } from '../microsoft/app-certificate.ts'
import { purgeDeleted } from '../purge-deleted.ts'
import { readFeed, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { ageGrants } from './age-grants.ts'
import { storedTokens } from './stored-tokens.ts'

const EMAIL = 'canary@office.test'
const GRAPH = 'graph.microsoft.com'
const PLACE = { provider: 'microsoft', cloud: 'global' }
const CLIENT_ID = 'certified'
const CLIENT_SECRET = 'canary-of-the-client-secret'
const SCOPES = [
  'openid',
  'profile',
  'email',
  'offline_access',
  ...['User.Read', 'Mail.ReadWrite', 'Mail.Send'].map(scope => `https://${GRAPH}/${scope}`),
]
/** The beginning of each assertion: its header names the algorithm first. */
const ASSERTION = Buffer.from('{"alg":"PS256","typ').toString('base64url').slice(0, 24)
const MAC_BYTES = 32

/** Makes the next call replace the access token. */
async function refresh({ app, sandbox }: GraphApp): Promise<void> {
  const versionOf = async () =>
    Number((await app.db.selectFrom('oauth_grant').select('version').executeTakeFirstOrThrow()).version)
  const before = await versionOf()
  await ageGrants(app.db)
  await sandbox.addFault({ does: 'unauthorized', host: GRAPH, count: 1 })
  await waitUntil('a refresh', async () => (await versionOf()) > before)
}

test('no key, secret, assertion, token or MAC of Microsoft is readable, from the app to the purge', async () => {
  await using opened = await openGraphApp()
  const { app, sandbox } = opened
  const { certificate, privateKey } = await makeAppCertificate()
  const line = privateKey.split('\n')[3] ?? ''
  expect(line).toHaveLength(64)
  const secrets: Array<string | Buffer> = [line, CLIENT_SECRET, ASSERTION]
  const answers: string[] = []
  const note = <T>(answer: { status: number; body: T }) => {
    answers.push(JSON.stringify(answer.body))
    expect(answer.status).toBe(200)
    return answer.body
  }
  const expectSecrecy = async (stage: string) => {
    const said = [
      ...answers,
      ...app.logLines,
      JSON.stringify((await readFeed(app)).events),
      JSON.stringify((await app.get('/v1/audit-log')).body),
    ]
    for (const secret of secrets) {
      expect(await tablesWith(app.db, secret), stage).toEqual([])
      const text = typeof secret === 'string' ? secret : secret.toString('hex')
      expect(
        said.filter(each => each.includes(text)),
        stage,
      ).toEqual([])
    }
  }

  await sandbox.addUser(EMAIL, { ...PLACE, messages: 2 })
  await sandbox.addClient({
    ...PLACE,
    clientId: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    certificates: [certificate],
  })
  const oauthApp = note(
    await app.post<OAuthApp>('/v1/oauth-apps', {
      ...PLACE,
      name: 'Certified',
      clientId: CLIENT_ID,
      certificate,
      privateKey,
    }),
  )
  const { refreshToken } = await sandbox.grant(EMAIL, SCOPES, CLIENT_ID, {
    provider: 'microsoft',
    cloud: 'global',
  })
  secrets.push(refreshToken)
  const { id } = note(await app.post<Account>('/v1/accounts', { provider: 'microsoft', refreshToken }))
  await waitForFirstSync(app, id)
  const clientState = await waitUntil('the subscription', async () => {
    const { items } = await sandbox.control<{ items: Array<{ clientState: string }> }>(
      'GET',
      '/subscriptions',
    )
    return items[0]?.clientState ?? null
  })
  secrets.push(clientState, Buffer.from(clientState, 'base64url').subarray(-MAC_BYTES))
  secrets.push(...Object.values(await storedTokens(app, id)))
  await expectSecrecy('connected with a certificate')

  await refresh(opened)
  secrets.push(...Object.values(await storedTokens(app, id)))
  await expectSecrecy('refreshed with a certificate')

  note(await app.patch(`/v1/oauth-apps/${oauthApp.id}`, { clientSecret: CLIENT_SECRET }))
  await refresh(opened)
  secrets.push(...Object.values(await storedTokens(app, id)))
  await expectSecrecy('refreshed with a secret')

  await sandbox.addFault({ does: 'error', status: 503, host: GRAPH, method: 'DELETE', count: 1 })
  expect((await app.delete(`/v1/accounts/${id}?purge=true`)).status).toBe(200)
  await expectSecrecy('deleted')
  await purgeDeleted(app)
  await expectSecrecy('purged')
})
