import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Message } from '@waxwing/contract/mail/messages.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { waitUntil } from '../wait-until.ts'
import { connectGraph, type GraphApp, openGraphApp } from './open-graph-app.ts'

let opened: GraphApp

beforeAll(async () => {
  opened = await openGraphApp()
})
afterAll(() => opened[Symbol.asyncDispose]())

describe('an account of Microsoft Graph', () => {
  test('sends, shows the copy once, and never the draft of the send', async () => {
    const eva = await connectGraph(opened)
    const finn = await connectGraph(opened)
    const { app } = opened
    const { status, body } = await app.post<OutboxEntry>(`/v1/accounts/${eva.accountId}/outbox`, {
      to: [{ address: finn.email }],
      subject: 'Figures',
      text: 'Here they are.',
      undoSendSeconds: 0,
      attachments: [
        {
          filename: 'a.pdf',
          contentType: 'application/pdf',
          content: Buffer.alloc(2_500_000, 'a').toString('base64'),
        },
      ],
    })
    expect(status).toBe(200)
    const entry = await waitUntil('the copy is linked', async () => {
      const read = await app.get<OutboxEntry>(`/v1/accounts/${eva.accountId}/outbox/${body.id}`)
      return read.body.messageId === null ? null : read.body
    })
    expect(entry).toMatchObject({ status: 'sent', attempts: 1 })
    const arrived = await waitUntil('the arrival', async () => {
      const [message] = await finn.messages()
      return message ?? null
    })
    expect(arrived).toMatchObject({
      subject: 'Figures',
      hasAttachments: true,
      internetMessageId: entry.internetMessageId,
    })
    expect((await eva.messages()).map(({ id, isDraft, outboxId }) => [id, isDraft, outboxId])).toEqual([
      [entry.messageId, false, body.id],
    ])
    const created = (await eva.feed()).filter(({ type }) => type === 'message.created')
    expect(created).toHaveLength(1)
  })

  test('keeps the id of a draft that is replaced, and sends it', async () => {
    const eva = await connectGraph(opened)
    const finn = await connectGraph(opened)
    const { app } = opened
    const path = `/v1/accounts/${eva.accountId}/drafts`
    const first = await app.post<Message>(path, {
      to: [{ address: finn.email }],
      subject: 'One',
      text: 'One',
    })
    expect(first.status).toBe(200)
    const { id } = first.body
    for (const subject of ['Two', 'Three']) {
      const put = await app.put<Message>(`${path}/${id}`, {
        to: [{ address: finn.email }],
        subject,
        text: subject,
      })
      expect(put).toMatchObject({ status: 200, body: { id, subject } })
    }
    const drafts = await eva.client.all('mailFolders/drafts/messages?$select=subject')
    expect(drafts.map(({ subject }) => subject)).toEqual(['Three'])
    const sent = await app.post<OutboxEntry>(`${path}/${id}/send`, { undoSendSeconds: 0 })
    expect(sent.status).toBe(200)
    await waitUntil('the draft became the copy', async () => {
      const messages = await eva.messages()
      return messages.length === 1 && messages[0]!.outboxId === sent.body.id ? true : null
    })
    expect(
      (await eva.feed()).map(({ type }) => type).filter(type => type === 'message.deleted').length,
    ).toBeLessThan(2)
    expect(await eva.client.all('mailFolders/drafts/messages?$select=subject')).toEqual([])
    await waitUntil('the arrival', async () => ((await finn.messages()).length === 1 ? true : null))
  })
})
