import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { attachment, isEvent, isReason, NotFoundError, Waxwing } from '../../../sdk/src/index.ts'
import { verifyWebhook } from '../../../sdk/src/webhooks.ts'
import { newId } from '../../src/kit/ids.ts'
import { type Receiver, startReceiver } from '../notifications/receiver.ts'
import { connectSender, GRACE, openSendingApp, type SendingApp } from '../sending/open-sending.ts'
import { QUICK_PACE, waitForFirstSync } from '../sync/followed-account.ts'

const opened = new AsyncDisposableStack()
let sending: SendingApp
let receiver: Receiver
let waxwing: Waxwing
let accountId: string
beforeAll(async () => {
  receiver = opened.use(await startReceiver())
  const config = { webhookAllow: ['127.0.0.1/32'], webhookAllowHttp: true }
  sending = opened.use(
    await openSendingApp({ app: { roles: ['api', 'jobs', 'sync'], pace: QUICK_PACE, config } }),
  )
  waxwing = new Waxwing({ baseUrl: sending.app.address, key: sending.app.key })
  accountId = await connectSender(sending.app, sending, { appendSent: true })
  await waitForFirstSync(sending.app, accountId)
})
afterAll(() => opened.disposeAsync())

describe('the client', () => {
  test('reads a mailbox and sends a message with a file, which is found in it', async () => {
    const { items: mailboxes } = await waxwing.mailboxes.list({ accountId })
    expect(mailboxes.map(({ role }) => role)).toContain('inbox')

    const file = await attachment(new TextEncoder().encode('a,b\n'), {
      filename: 'figures.csv',
      contentType: 'text/csv',
    })
    const entry = await waxwing.outbox.create({
      accountId,
      to: [GRACE],
      subject: 'Figures',
      text: 'Hello, Grace.\n',
      attachments: [file],
    })
    let sent = entry
    await expect
      .poll(
        async () =>
          (sent = await waxwing.outbox.get({ accountId, outboxId: entry.id, waitSeconds: 10 })).messageId,
      )
      .not.toBeNull()
    expect(sent).toMatchObject({ status: 'sent', subject: 'Figures' })
    const messageId = sent.messageId ?? ''
    const message = await waxwing.messages.get({ accountId, messageId })
    const [attached] = message.attachments
    expect(attached).toMatchObject({ filename: 'figures.csv' })
    const download = await waxwing.messages.attachment({
      accountId,
      messageId,
      attachmentId: attached?.id ?? '',
    })
    expect(new TextDecoder().decode(await download.bytes())).toBe('a,b\n')
    const source = await waxwing.messages.raw({ accountId, messageId })
    expect(source.contentType).toBe('message/rfc822')
    expect(new TextDecoder().decode(await source.bytes())).toContain('Subject: Figures')

    const found: string[] = []
    for await (const { id } of waxwing.messages.list({ accountId, limit: 1 })) found.push(id)
    expect(found).toContain(messageId)
  })

  test('sends once for one key', async () => {
    const call = () =>
      waxwing.outbox
        .create({ accountId, to: [GRACE], subject: 'Once', text: 'Once.' }, { idempotencyKey: 'sdk-once' })
        .withResponse()
    const first = await call()
    const second = await call()
    expect(second.body.id).toBe(first.body.id)
    expect([first.isReplayed, second.isReplayed]).toEqual([false, true])
  })

  test('changes a draft only while it has the content that was read', async () => {
    const { body, etag } = await waxwing.drafts
      .create({ accountId, subject: 'One', text: '1' })
      .withResponse()
    expect(etag).toBeDefined()
    const change = { accountId, messageId: body.id, subject: 'Two', text: '2' }
    await waxwing.drafts.replace(change, { ifMatch: etag ?? '' })
    const again = waxwing.drafts.replace({ ...change, subject: 'Three' }, { ifMatch: etag ?? '' })
    await expect(again).rejects.toMatchObject({ outcome: 'not_applied', isDefined: true })
  })

  test('tells refusals apart', async () => {
    const missing = waxwing.accounts.get({ accountId: newId() })
    await expect(missing).rejects.toBeInstanceOf(NotFoundError)
    const error: unknown = await waxwing.outbox
      .create({ accountId, to: [{ address: 'no address' }], text: 'x' })
      .catch((reason: unknown) => reason)
    if (!isReason(error, 'invalid_input')) throw error
    expect(error.data.issues).toMatchObject([{ path: ['to', 0, 'address'] }])
    // It leads to no other operation.
    await expect(waxwing.accounts.get({ accountId: '../settings' })).rejects.toMatchObject({ status: 400 })
  })

  test('follows the feed by pages and by stream, each event once', async () => {
    const { nextCursor } = await waxwing.changes.list({ start: 'now' })
    const leaving = new AbortController()
    const options = { signal: leaving.signal }
    const followed: string[] = []
    const streamed: string[] = []
    const following = waxwing.changes.follow(
      { load: () => nextCursor, save: () => {} },
      event => {
        if (isEvent(event, 'mailbox.created')) followed.push(event.data.mailbox.name)
      },
      {},
      options,
    )
    const streaming = (async () => {
      const input = { cursor: nextCursor, types: ['mailbox.created' as const] }
      for await (const event of waxwing.changes.stream(input, options))
        if (isEvent(event, 'mailbox.created')) streamed.push(event.data.mailbox.name)
    })()
    for (const name of ['One', 'Two', 'Three']) await waxwing.mailboxes.create({ accountId, name })
    await expect.poll(() => followed).toEqual(['One', 'Two', 'Three'])
    await expect.poll(() => streamed).toEqual(['One', 'Two', 'Three'])
    leaving.abort()
    await Promise.all([following, streaming])
  })

  test('verifies what the service delivers', async () => {
    const created = await waxwing.webhooks.create({ url: `${receiver.url}/hook` })
    const endpointId = created.endpoint.id
    const { eventId } = await waxwing.webhooks.test({ endpointId })
    const received = await expect
      .poll(() => receiver.received.find(({ headers }) => headers['webhook-id'] === eventId))
      .toBeDefined()
      .then(() => receiver.received.find(({ headers }) => headers['webhook-id'] === eventId))
    const event = await verifyWebhook(received?.body ?? '', received?.headers ?? {}, created.secret)
    expect(event).toMatchObject({ id: eventId, type: 'webhook.test', isTest: true })
    await waxwing.webhooks.delete({ endpointId })
  })
})
