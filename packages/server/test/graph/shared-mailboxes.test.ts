import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { Message } from '@waxwing/contract/mail/messages.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { readFeed, readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { addOfficeUser, addShared, connectUser, SANDBOX_APPS, deleteAccounts } from './delegates.ts'
import { openGraphClient } from './graph-client.ts'
import { type GraphApp, openGraphApp } from './open-graph-app.ts'

let opened: GraphApp

beforeAll(async () => {
  opened = await openGraphApp({ config: SANDBOX_APPS })
})
afterEach(() => deleteAccounts(opened.app))
afterAll(() => opened[Symbol.asyncDispose]())

/** A delegate with a shared mailbox, both followed. */
async function openDesk({ messages = 0 } = {}) {
  const { app, sandbox } = opened
  const eva = await addOfficeUser(sandbox, { name: 'eva' })
  const desk = await addOfficeUser(sandbox, { name: 'desk', messages, delegates: [eva] })
  const delegate = await connectUser(app, sandbox, eva)
  const account = await addShared(app, delegate.id, desk, { displayName: 'Front Desk', externalRef: 'desk' })
  await waitForFirstSync(app, delegate.id)
  await waitForFirstSync(app, account.id)
  return { eva, desk, delegate, account }
}

const LETTER =
  'From: Grace <grace@example.com>\r\nTo: desk@office.test\r\nSubject: A question\r\n\r\nHello\r\n'

/** Sends from an account, and waits for the end. */
async function send(accountId: string, to: string, more: object = {}): Promise<OutboxEntry> {
  const { app } = opened
  const path = `/v1/accounts/${accountId}/outbox`
  const body = { to: [{ address: to }], subject: 'Figures', text: 'Here.', undoSendSeconds: 0, ...more }
  const posted = await app.post<OutboxEntry>(path, body)
  expect(posted.status, JSON.stringify(posted.body)).toBe(200)
  return waitUntil('the end of the send', async () => {
    const { body: entry } = await app.get<OutboxEntry>(`${path}/${posted.body.id}`)
    return ['sent', 'failed'].includes(entry.status) ? entry : null
  })
}

describe('a shared mailbox', () => {
  test('is added, followed, read and polled like any other account', async () => {
    const { app, sandbox } = opened
    const { desk, delegate, account } = await openDesk({ messages: 30 })
    expect(account).toMatchObject({
      email: desk,
      provider: 'graph',
      cloud: 'global',
      displayName: 'Front Desk',
      externalRef: 'desk',
      oauthAppId: null,
      status: 'active',
      auth: { method: 'delegate', delegateAccountId: delegate.id },
    })
    const { body: list } = await app.get<{ items: Account[] }>(
      `/v1/accounts?delegateAccountId=${delegate.id}`,
    )
    expect(list.items.map(({ id }) => id)).toEqual([account.id])

    const client = await openGraphClient(sandbox, desk)
    const subjects = async () =>
      (await readMessages(app, account.id)).map(({ subject }) => subject).toSorted()
    const truth = await client.all('messages?$top=500&$select=subject')
    expect(await subjects()).toEqual(truth.map(({ subject }) => subject).toSorted())
    expect(await readMessages(app, delegate.id)).toEqual([])

    const { cursor } = await readFeed(app)
    await sandbox.deliver(desk, LETTER)
    const event = await waitUntil('the delivered message in the feed', async () => {
      const { events } = await readFeed(app, cursor)
      return events.find(({ type }) => type === 'message.created') ?? null
    })
    expect(event).toMatchObject({ accountId: account.id, data: { message: { subject: 'A question' } } })
    const { body: message } = await app.get<Message>(
      `/v1/accounts/${account.id}/messages/${event.data.message?.id}`,
    )
    expect(message).toMatchObject({ body: { text: expect.stringContaining('Hello') } })
    const subscriptions = await sql`
      select from half_subscription where account_id = ${account.id}`.execute(app.db)
    expect(subscriptions.rows).toEqual([])
  })

  test('is sent from, and its copy becomes the message of the send', async () => {
    const { app, sandbox } = opened
    const { desk, account } = await openDesk()
    const finn = await addOfficeUser(sandbox, { name: 'finn' })
    const sent = await send(account.id, finn)
    expect(sent).toMatchObject({ status: 'sent', attempts: 1 })
    const copy = await waitUntil('the copy', async () => {
      const [message] = await readMessages(app, account.id)
      return message?.outboxId === sent.id ? message : null
    })
    expect(copy).toMatchObject({ from: { address: desk }, internetMessageId: sent.internetMessageId })
    const client = await openGraphClient(sandbox, finn)
    const [arrived] = await client.all('messages?$select=from,internetMessageId')
    expect(arrived).toMatchObject({
      from: { emailAddress: { address: desk } },
      internetMessageId: sent.internetMessageId,
    })
  })
})
