import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { useServer } from '../servers/shared-server.ts'
import { waitUntil } from '../wait-until.ts'
import { connectGmail, letter, openGmailApp } from './open-gmail-app.ts'

const gmail = useServer(() => openGmailApp())
const MESSAGES = 30

test('an account that keeps every body pays for each message once', async () => {
  const { app, sandbox } = gmail()
  expect((await app.patch('/v1/settings', { bodyStorage: 'full' })).status).toBe(200)
  const large = 'x'.repeat(300_000)
  const account = await connectGmail(gmail(), async client => {
    for (let nth = 0; nth < MESSAGES; nth += 1) await client.insert(letter(`letter ${nth}`), ['INBOX'])
    await client.insert(`${letter('large')}${large}`, ['INBOX'])
  })
  const stored = async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from message_blob join message on message.id = message_id
      where message.account_id = ${account.accountId}
    `.execute(app.db)
    return rows[0]?.count ?? 0
  }
  await waitUntil('every body to be stored', async () => (await stored()) === MESSAGES + 1 || null)
  await account.client.insert(letter('new'), ['INBOX'])
  await waitUntil('the new body to be stored', async () => (await stored()) === MESSAGES + 2 || null)

  const { items } = await sandbox.calls({ user: account.email })
  const own = items.filter(({ clientId }) => clientId === 'sandbox')
  const reads = own.filter(({ path }) => /\/(?:messages|threads)\/[^/]+$/.test(path)).map(({ path }) => path)
  expect(reads.length).toBe(MESSAGES + 2)
  expect(new Set(reads).size).toBe(reads.length)
  const { id } = await account.message('large')
  const { body } = await app.get<{ text: string }>(`${account.path}/messages/${id}`)
  expect(JSON.stringify(body)).toContain('Text of large')
})
