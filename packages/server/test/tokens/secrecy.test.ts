import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { tablesWith } from '../database-text.ts'
import { SCOPES } from '../gmail/gmail-client.ts'
import { type GmailApp, letter, openGmailApp } from '../gmail/open-gmail-app.ts'
import { purgeDeleted } from '../purge-deleted.ts'
import { readFeed, readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { ageGrants } from './age-grants.ts'

const EMAIL = 'canary@gmail.test'
/** Beginning of every access token. */
const ACCESS_TOKEN = 'ya29.'
const MAIL = 'gmail.googleapis.com'

/** Makes the next call replace the access token. */
async function expireAccessToken({ app, sandbox }: GmailApp): Promise<void> {
  await ageGrants(app.db)
  await sandbox.addFault({ does: 'unauthorized', host: MAIL, count: 1 })
}

test('no token is readable in tables, logs, the feed or the audit log, from connecting to the purge', async () => {
  await using opened = await openGmailApp()
  const { app, sandbox } = opened
  const secrets = [ACCESS_TOKEN, 'sandbox-secret']
  const grant = async () => {
    const { refreshToken } = await sandbox.grant(EMAIL, SCOPES)
    secrets.push(refreshToken)
    return refreshToken
  }
  const connect = async () => {
    const body = { provider: 'google', refreshToken: await grant() }
    const answer = await app.post<{ id: string }>('/v1/accounts', body)
    expect(answer.status).toBe(200)
    return answer.body.id
  }
  const expectSecrecy = async (stage: string) => {
    const audit = await app.get('/v1/audit-log')
    const said = [...app.logLines, JSON.stringify((await readFeed(app)).events), JSON.stringify(audit.body)]
    for (const secret of secrets) {
      expect(await tablesWith(app.db, secret), stage).toEqual([])
      expect(
        said.filter(text => text.includes(secret)),
        stage,
      ).toEqual([])
    }
  }
  const statusIs = (status: string) =>
    waitUntil(`the account to be ${status}`, async () => {
      const { body } = await app.get<{ status: string }>(`/v1/accounts/${id}`)
      return body.status === status
    })

  await sandbox.addUser(EMAIL)
  const id = await connect()
  await waitForFirstSync(app, id)
  await expectSecrecy('connected')

  await expireAccessToken(opened)
  await waitUntil('a refresh', async () => {
    const { rows } = await sql`select from oauth_grant where version > 0`.execute(app.db)
    return rows.length > 0
  })
  await expectSecrecy('refreshed')

  await sandbox.changeUser(EMAIL, { suspended: true })
  await expireAccessToken(opened)
  await statusIs('reauth_required')
  await expectSecrecy('refused')

  await sandbox.changeUser(EMAIL, { suspended: false })
  await sandbox.clearFaults()
  expect(await connect()).toBe(id)
  await sandbox.deliver(EMAIL, letter('After all'))
  await waitUntil('the message', async () =>
    (await readMessages(app, id)).some(({ subject }) => subject === 'After all'),
  )
  await expectSecrecy('renewed')

  await sandbox.addFault({
    does: 'error',
    status: 503,
    host: 'oauth2.googleapis.com',
    path: '/revoke',
    count: 1,
  })
  expect((await app.delete(`/v1/accounts/${id}?purge=true`)).status).toBe(200)
  await expectSecrecy('deleted')
  await purgeDeleted(app)
  await expectSecrecy('purged')
})
