import type { Message, MessageSummary } from '@waxwing/contract/mail/messages.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { describe, expect, test } from 'vitest'
import { waitForCopy } from '../sending/open-sending.ts'
import { useServer } from '../servers/shared-server.ts'
import { waitUntil } from '../wait-until.ts'
import { connectGraph, type GraphAccount, openGraphApp } from './open-graph-app.ts'

const opened = useServer(() => openGraphApp())

const pathOf = ({ accountId }: GraphAccount) => `/v1/accounts/${accountId}`

const arrival = (account: GraphAccount, subject: string) =>
  waitUntil(`"${subject}" to arrive`, async () => {
    const found = (await account.messages()).filter(
      message => message.subject === subject && message.direction === 'inbound',
    )
    return found.length === 1 ? found[0]! : null
  })

const withCopy = (entry: OutboxEntry) => waitForCopy(opened().app, entry)

/** Fields of the header of the only message with this subject in a folder of the provider. */
async function fieldsIn({ client }: GraphAccount, folder: string, subject: string) {
  const listed = await client.all(`mailFolders/${folder}/messages?$top=50&$select=id,subject,conversationId`)
  const found = listed.filter(message => message.subject === subject)
  expect(found).toHaveLength(1)
  const [{ id, conversationId }] = found
  const { internetMessageHeaders } = await client.ask('GET', `messages/${id}?$select=internetMessageHeaders`)
  const fields = internetMessageHeaders.map(({ name, value }: { name: string; value: string }) => [
    name.toLowerCase(),
    value,
  ])
  return { conversationId, fields: Object.fromEntries(fields) }
}

/** Two people of one office, one of whom got a letter from outside that is itself a reply. */
async function openTalk(): Promise<{ eva: GraphAccount; finn: GraphAccount; letter: MessageSummary }> {
  const [eva, finn] = [await connectGraph(opened()), await connectGraph(opened())]
  await opened().sandbox.deliver(
    eva.email,
    `From: Grace <grace@example.com>\r\nTo: ${eva.email}\r\nSubject: Re: Talk\r\nMessage-ID: <second@example.com>\r\n` +
      'In-Reply-To: <first@example.com>\r\nReferences: <first@example.com>\r\n\r\nDear Eva\r\n',
  )
  return { eva, finn, letter: await arrival(eva, 'Re: Talk') }
}

const CHAIN = '<first@example.com> <second@example.com>'

describe('a reply by Graph', () => {
  test('has the whole chain of references, is in the thread, and has one copy (C36, C37)', async () => {
    const { app } = opened()
    const { eva, finn, letter } = await openTalk()
    const { body: entry } = await app.post<OutboxEntry>(`${pathOf(eva)}/outbox`, {
      to: [{ address: finn.email }],
      inReplyTo: letter.id,
      text: 'As follows.',
      undoSendSeconds: 0,
    })
    const sent = await withCopy(entry)
    expect(sent.threadId).toBe(letter.threadId)
    const copy = await fieldsIn(eva, 'sentitems', 'Re: Talk')
    const received = await fieldsIn(finn, 'inbox', 'Re: Talk')
    for (const { fields } of [copy, received])
      expect(fields).toMatchObject({
        'in-reply-to': '<second@example.com>',
        references: CHAIN,
        'message-id': entry.internetMessageId,
      })
    expect(copy.conversationId).toBe(letter.threadId)
    const created = (await eva.feed()).filter(({ type }) => type === 'message.created')
    expect(created.map(({ data }) => data.message?.isDraft)).toEqual([false, false])

    const answered = await arrival(finn, 'Re: Talk')
    const back = await app.post<OutboxEntry>(`${pathOf(finn)}/outbox`, {
      to: [{ address: eva.email }],
      inReplyTo: answered.id,
      text: 'Thanks.',
      undoSendSeconds: 0,
    })
    expect((await withCopy(back.body)).threadId).toBe(answered.threadId)
    const inThread = await waitUntil('three messages of one thread', async () => {
      const found = (await eva.messages()).filter(({ threadId }) => threadId === letter.threadId)
      return found.length === 3 ? found : null
    })
    const third = inThread.find(({ internetMessageId }) => internetMessageId === back.body.internetMessageId)
    expect(third).toMatchObject({ direction: 'inbound', subject: 'Re: Talk' })
  })

  test('as a draft is one draft in the thread, with its text and recipients, until it is sent (C38)', async () => {
    const { app } = opened()
    const { eva, finn, letter } = await openTalk()
    const drafts = `${pathOf(eva)}/drafts`
    const written = { to: [{ address: finn.email }], inReplyTo: letter.id, text: 'First words' }
    const { status, body: draft } = await app.post<Message>(drafts, written)
    expect([status, draft]).toMatchObject([
      200,
      { isDraft: true, threadId: letter.threadId, subject: 'Re: Talk', to: written.to },
    ])
    for (const text of ['Second words', 'Third words']) {
      const replaced = await app.put<Message>(`${drafts}/${draft.id}`, { ...written, text })
      expect(replaced).toMatchObject({
        status: 200,
        body: { id: draft.id, threadId: letter.threadId, internetMessageId: draft.internetMessageId },
      })
      const { conversationId, fields } = await fieldsIn(eva, 'drafts', 'Re: Talk')
      expect(conversationId).toBe(letter.threadId)
      expect(fields).toMatchObject({ 'in-reply-to': '<second@example.com>', references: CHAIN })
      const read = await app.get<Message>(`${pathOf(eva)}/messages/${draft.id}`)
      expect(read.body).toMatchObject({
        isDraft: true,
        to: written.to,
        body: { text: expect.stringContaining(text) },
      })
    }
    const { body: entry } = await app.post<OutboxEntry>(`${drafts}/${draft.id}/send`, { undoSendSeconds: 0 })
    expect((await withCopy(entry)).threadId).toBe(letter.threadId)
    const drafted = () => eva.client.all('mailFolders/drafts/messages?$select=id')
    await waitUntil('the draft to be removed', async () => (await drafted()).length === 0)
    expect((await fieldsIn(eva, 'sentitems', 'Re: Talk')).conversationId).toBe(letter.threadId)
    expect((await fieldsIn(finn, 'inbox', 'Re: Talk')).fields).toMatchObject({ references: CHAIN })
    await waitUntil('the index without the draft', async () => {
      const messages = await eva.messages()
      return messages.length === 2 && messages.every(({ isDraft }) => !isDraft)
    })
  })
})
