import { isDeepStrictEqual } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { openGraphClient } from './graph-client.ts'
import { addGraphAccount, type GraphApp, openGraphApp } from './open-graph-app.ts'
import { indexed, truth } from './two-views.ts'

/** Nearly half of the messages are in the inbox. The newest of more than 2,500 are listed before it is walked through. */
const MESSAGES = Number(process.env['WAXWING_TEST_GRAPH_FOLDER'] ?? 1_500)
const NEWEST = 100

let opened: GraphApp
beforeAll(async () => {
  opened = await openGraphApp()
})
afterAll(() => opened[Symbol.asyncDispose]())

test('a large folder is read newest first and whole, while mail arrives, moves and goes', async () => {
  const { app, sandbox } = opened
  const email = 'large@office.test'
  await sandbox.addUser(email, { messages: MESSAGES, provider: 'microsoft' })
  const client = await openGraphClient(sandbox, email)
  const folder = await client.createFolder('Moved')
  const inbox = (await client.all('mailFolders/inbox/messages?$top=1000&$select=id,subject')).map(
    ({ id }) => id,
  )
  expect(inbox.length).toBeGreaterThan(MESSAGES * 0.4)
  const accountId = await addGraphAccount(opened, email)
  const account = { accountId, client, messages: () => readMessages(app, accountId) }

  const read = () => account.messages()
  await waitUntil('the newest messages', async () => (await read()).length >= NEWEST)
  // Messages that are listed, others that are not yet, and new ones.
  await client.move([...inbox.slice(5, 15), ...inbox.slice(-20)], folder)
  for (const id of [inbox[3], inbox[300], inbox.at(-30)])
    await client.ask('POST', `messages/${id}/permanentDelete`)
  for (const id of [inbox[2], inbox[310], inbox.at(-40)])
    await client.ask('PATCH', `messages/${id}`, { isRead: true })
  for (let number = 0; number < 5; number++)
    await sandbox.deliver(email, `From: Grace <grace@example.com>\r\nSubject: Late ${number}\r\n\r\nHi\r\n`)
  await waitForFirstSync(app, accountId, 600)
  await waitUntil('the index to be equal', async () =>
    isDeepStrictEqual(await indexed(opened, account), await truth(account)),
  )
  const { items } = await sandbox.calls({ user: email })
  const calls = items.filter(({ clientId }) => clientId === 'sandbox')
  // Lists and walks take few calls; moves and changes are looked up singly.
  expect(calls.length).toBeLessThan(MESSAGES * 0.02 + 400)
})
