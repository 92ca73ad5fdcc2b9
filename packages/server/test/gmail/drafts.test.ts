import { isDeepStrictEqual } from 'node:util'
import type { Message } from '@waxwing/contract/mail/messages.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { waitForStatus } from '../sending/open-sending.ts'
import { useServer } from '../servers/shared-server.ts'
import { waitUntil } from '../wait-until.ts'
import type { GmailClient } from './gmail-client.ts'
import { connectGmail, type GmailAccount, letter, openGmailApp } from './open-gmail-app.ts'
import { whileUnread } from './while-unread.ts'

const opened = useServer(() => openGmailApp())

const REPLY = { to: [{ address: 'bob@example.com' }], subject: 'Re: talk', text: 'First' }

interface ProviderDraft {
  id: string
  raw: string
  threadId: string
}

async function draftsOf(client: GmailClient): Promise<ProviderDraft[]> {
  const { drafts = [] } = await client.call(api => api.drafts.list())
  return Promise.all(
    drafts.map(async ({ id, message }) => ({
      id: id!,
      threadId: message!.threadId!,
      raw: await client.rawOf(message!.id!),
    })),
  )
}

const draftEvents = async (account: GmailAccount) =>
  (await account.settledFeed()).filter(line => !line.includes('talk') || line.includes('Re: talk'))

const deleteDraft = (client: GmailClient, id: string) => client.deleteDraft(id)
const sendDraft = (client: GmailClient, id: string) =>
  client.call(api => api.drafts.send({ requestBody: { id } }))

/** Waits until the index has these messages, and no draft. */
const waitForSubjects = (account: GmailAccount, subjects: readonly string[]) =>
  waitUntil(`${subjects.join(' and ')} without a draft`, async () => {
    const messages = await account.messages()
    const held = messages.map(({ subject }) => subject).toSorted()
    return messages.every(({ isDraft }) => !isDraft) && isDeepStrictEqual(held, subjects)
  })

describe.concurrent('a draft of Gmail', () => {
  test('of a reply is one draft in its thread, with its text and recipients, over replacing and sending (C38, C37)', async () => {
    const { app } = opened()
    const account = await connectGmail(opened(), client => client.insert(letter('talk'), ['INBOX']))
    const { path, client } = account
    const replied = await account.message('talk')
    const created = await app.post<Message>(`${path}/drafts`, { ...REPLY, inReplyTo: replied.id })
    expect(created).toMatchObject({
      status: 200,
      body: { isDraft: true, threadId: replied.threadId, to: REPLY.to },
    })
    const { id } = created.body
    const [first, ...more] = await draftsOf(client)
    expect(more).toEqual([])
    expect(first).toMatchObject({ threadId: replied.threadId })
    expect(first?.raw).toMatch(/^In-Reply-To: <talk@example.com>\r$/m)

    const replaced = await app.put<Message>(`${path}/drafts/${id}`, { ...REPLY, text: 'Second' })
    expect(replaced).toMatchObject({
      status: 200,
      body: { id, threadId: replied.threadId, internetMessageId: created.body.internetMessageId },
    })
    const [second, ...others] = await draftsOf(client)
    expect(others).toEqual([])
    expect(second).toMatchObject({ id: first!.id, threadId: replied.threadId })
    expect(second?.raw).toContain('Second')
    expect(second?.raw).toMatch(/^References: <talk@example.com>\r$/m)
    expect((await app.get<Message>(`${path}/messages/${id}`)).body).toMatchObject({
      isDraft: true,
      body: { text: expect.stringContaining('Second') },
    })

    const sent = await app.post<OutboxEntry>(`${path}/drafts/${id}/send`, {})
    const { threadId, messageId } = await waitUntil('the copy', async () => {
      const entry = await waitForStatus(app, sent.body, 'sent')
      return entry.messageId ? entry : null
    })
    expect(threadId).toBe(replied.threadId)
    await waitUntil('the draft to be gone', async () => (await draftsOf(client)).length === 0 || null)
    const raws = (await client.messages()).filter(({ labelIds }) => labelIds.includes('SENT'))
    expect(raws).toMatchObject([{ threadId: replied.threadId }])
    expect(messageId).not.toBe(id)
    const events = await draftEvents(account)
    // The date of a message has whole seconds: replaced within one, it stays.
    const dated = created.body.sentAt === replaced.body.sentAt ? '' : ' sentAt'
    expect(events.toSorted()).toEqual(
      [
        'message.created Re: talk',
        `message.updated Re: talk snippet receivedAt${dated}`,
        'message.deleted Re: talk',
        'message.created Re: talk',
        ...events.filter(line => line.startsWith('send.') || line.startsWith('mailbox.')),
      ].toSorted(),
    )
  })

  test('keeps its id when another client edits it, which is one message.updated', async () => {
    const { app } = opened()
    const account = await connectGmail(opened())
    const { path, client } = account
    const { id, etag } = await (async () => {
      const { body, headers } = await app.post<Message>(`${path}/drafts`, { subject: 'Mine', text: 'Mine' })
      return { id: body.id, etag: headers.get('etag')! }
    })()
    const [draft] = await draftsOf(client)
    await client.updateDraft(draft!.id, draft!.raw.replace('Subject: Mine', 'Subject: Theirs'))
    expect(await app.put(`${path}/drafts/${id}`, { subject: 'x' }, { 'if-match': etag })).toMatchObject({
      status: 409,
      body: { code: 'provider_conflict' },
    })
    expect((await account.message('Theirs')).id).toBe(id)
    const read = await app.get<Message>(`${path}/messages/${id}`)
    expect(read.body).toMatchObject({ id, isDraft: true, subject: 'Theirs' })
    expect(read.headers.get('etag')).not.toBe(etag)
    const [first, ...rest] = await account.settledFeed()
    expect(first).toBe('message.created Mine')
    expect(rest).toHaveLength(1)
    expect(rest[0]).toMatch(/^message\.updated Theirs .*subject/)
    const again = await app.put(
      `${path}/drafts/${id}`,
      { subject: 'Mine again' },
      { 'if-match': read.headers.get('etag')! },
    )
    expect(again).toMatchObject({ status: 200, body: { id, subject: 'Mine again' } })
    expect(await draftsOf(client)).toHaveLength(1)
  })

  test('that another client wrote is replaced and deleted', async () => {
    const { app } = opened()
    const account = await connectGmail(opened())
    const { path, client } = account
    await client.createDraft('Subject: Theirs\r\nMessage-ID: <theirs@example.com>\r\n\r\nText\r\n')
    const { id } = await account.message('Theirs')
    const replaced = await app.put<Message>(`${path}/drafts/${id}`, { subject: 'Mine', text: 'Mine' })
    expect(replaced).toMatchObject({ status: 200, body: { id, subject: 'Mine' } })
    expect(await draftsOf(client)).toMatchObject([{ raw: expect.stringContaining('Subject: Mine') }])
    expect(await app.delete(`${path}/drafts/${id}`)).toMatchObject({ status: 200, body: null })
    expect(await draftsOf(client)).toEqual([])
    const events = await account.settledFeed()
    expect(events[0]).toBe('message.created Theirs')
    expect(events.at(-1)).toBe('message.deleted Mine')
    expect(events).toHaveLength(3)
  })

  test('that another client sends is deleted, and its message created', async () => {
    const { app } = opened()
    const account = await connectGmail(opened())
    const { path, client } = account
    const { body } = await app.post<Message>(`${path}/drafts`, {
      to: [{ address: 'x@example.com' }],
      subject: 'Mine',
      text: 'x',
    })
    const [draft] = await draftsOf(client)
    await client.call(api => api.drafts.send({ requestBody: { id: draft!.id } }))
    const sent = await waitUntil('the sent message', async () => {
      const found = (await account.messages()).filter(({ subject }) => subject === 'Mine')
      return found.length === 1 && !found[0]!.isDraft ? found[0]! : null
    })
    expect(sent).toMatchObject({ direction: 'outbound' })
    expect(sent.id).not.toBe(body.id)
    expect((await account.settledFeed()).toSorted()).toEqual([
      'message.created Mine',
      'message.created Mine',
      'message.deleted Mine',
    ])
    expect(await app.put(`${path}/drafts/${body.id}`, {})).toMatchObject({
      status: 404,
      body: { code: 'draft_not_found' },
    })
  })

  test('that Gmail no longer has is not found', async () => {
    const { app } = opened()
    const account = await connectGmail(opened())
    const { path, client } = account
    const { body } = await app.post<Message>(`${path}/drafts`, { subject: 'Gone', text: 'x' })
    const [draft] = await draftsOf(client)
    await client.deleteDraft(draft!.id)
    const refused = await app.put(`${path}/drafts/${body.id}`, { subject: 'x' })
    expect(refused.status).toBe(404)
    expect((await account.settledFeed()).at(-1)).toBe('message.deleted Gone')
  })

  // A fault strikes the calls of every account.
  test('is created once, if the answer to the first try was lost', { concurrent: false }, async () => {
    const { app, sandbox } = opened()
    const account = await connectGmail(opened())
    const { path, client } = account
    await sandbox.addFault({
      does: 'lost',
      host: 'gmail.googleapis.com',
      method: 'POST',
      path: '/upload/gmail/v1/users/me/drafts',
      count: 1,
    })
    const key = { 'idempotency-key': 'one-draft' }
    const draft = { subject: 'Once', text: 'Once' }
    expect(await app.post(`${path}/drafts`, draft, key)).toMatchObject({
      status: 502,
      body: { code: 'provider_unavailable' },
    })
    expect(await app.post(`${path}/drafts`, draft, key)).toMatchObject({
      status: 200,
      body: { subject: 'Once' },
    })
    expect(await draftsOf(client)).toHaveLength(1)
    expect(await account.settledFeed()).toEqual(['message.created Once'])
  })

  test.each([
    ['deletes', deleteDraft, ['news']],
    ['sends', sendDraft, ['Mine', 'news']],
  ])(
    'that another client %s unheard leaves the index by a comparison',
    { concurrent: false },
    async (_, act, left) => {
      const { app } = opened()
      const account = await connectGmail(opened(), client =>
        client.createDraft('To: x@example.com\r\nSubject: Mine\r\n\r\nText\r\n'),
      )
      const { path, accountId, client } = account
      await account.message('Mine')
      await whileUnread(opened(), account, async () => {
        const [draft] = await client.drafts()
        await act(client, draft!)
        const { historyId } = await client.call(api => api.getProfile())
        // The history leaves out what happened.
        await sql`update sync_cursor set cursor = cursor || jsonb_build_object('historyId', ${historyId}::text)
        where account_id = ${accountId}`.execute(app.db)
      })
      await app.get(`${path}/integrity?refresh=true`)
      await waitForSubjects(account, left)
    },
  )
})
