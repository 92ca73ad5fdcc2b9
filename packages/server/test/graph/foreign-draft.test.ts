import type { Message } from '@waxwing/contract/mail/messages.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { askPython } from '../bodies/ask-python.ts'
import { waitForStatus } from '../sending/open-sending.ts'
import { askForSync, waitForRuntime } from '../sync/proxied-account.ts'
import { waitUntil } from '../wait-until.ts'
import { connectGraph, type GraphAccount, type GraphApp, openGraphApp } from './open-graph-app.ts'
import { SOAK } from '../soak.ts'

let opened: GraphApp
/** Called with each moment of the service at which a test may act. */
let reach: (point: string) => Promise<void> | void = () => {}

beforeAll(async () => {
  opened = await openGraphApp({ reachPoint: point => reach(point) })
})
afterAll(() => opened[Symbol.asyncDispose]())

/** Longer than the preview of a message. Two such texts differ in nothing else that a list of messages shows. */
const longText = (end: string) => `${'All work and no play. '.repeat(15)}${end}`
const LATER = { contentType: 'text', content: longText('THEIRS') }
/** Drafts by which tests wait for looks. */
const SEEN = 'Seen'
const CONFLICT = { status: 409, body: { code: 'provider_conflict' } }

interface Draft {
  id: string
  etag: string
  /** The id at the provider. */
  key: string
}

interface Drafting extends GraphAccount {
  path: string
  /** Another client edits the draft. Unless told otherwise, no list of messages shows that. */
  edit(draft: Draft, change?: object): Promise<unknown>
  /** Subjects and texts of the drafts at the provider. */
  drafts(): Promise<string[]>
  read(draft: Draft): Promise<{ status: number; etag: string | null; text: string | null | undefined }>
  /** The events about the draft, with the names of changed fields. */
  events(draft: Draft): Promise<string[]>
}

async function openDrafting(options: Parameters<typeof connectGraph>[1] = {}): Promise<Drafting> {
  const { app } = opened
  const account = await connectGraph(opened, options)
  const { client, accountId } = account
  const path = `/v1/accounts/${accountId}/drafts`
  return {
    ...account,
    path,
    edit: ({ key }, change = { body: LATER }) => client.ask('PATCH', `messages/${key}`, change),
    async drafts() {
      const found = await client.all('mailFolders/drafts/messages?$select=subject,body')
      const drafts = found.filter(({ subject }) => !subject.startsWith(SEEN))
      return drafts.map(({ subject, body }) =>
        `${subject} ${/MINE|THEIRS|OTHERS/.exec(body.content)?.[0] ?? ''}`.trim(),
      )
    },
    async read({ id }) {
      const { status, body, headers } = await app.get<Message>(`/v1/accounts/${accountId}/messages/${id}`)
      return { status, etag: headers.get('etag'), text: body.body?.text }
    },
    events: async ({ id }) =>
      (await account.feed()).flatMap(({ type, data }) => {
        const { message, changes = [] } = data as { message?: Message; changes?: string[] }
        return message?.id === id ? [[type, message.subject, ...changes].join(' ')] : []
      }),
  }
}

const contentOf = (to: string, subject = 'Mine') => ({
  to: [{ address: to }],
  subject,
  text: longText('MINE'),
})

async function create({ client, path }: Drafting, to = 'bob@example.com'): Promise<Draft> {
  const { status, body, headers } = await opened.app.post<Message>(path, contentOf(to))
  expect(status).toBe(200)
  const [{ id: key }] = await client.all('mailFolders/drafts/messages?$select=id')
  return { id: body.id, etag: headers.get('etag')!, key }
}

/** Acts while the changes of no folder can be read, so that the index does not see what other clients do. */
async function withoutLooks({ accountId, client }: GraphAccount, act: () => Promise<void>): Promise<void> {
  const { app, sandbox } = opened
  await sandbox.addFault({ does: 'error', host: 'graph.microsoft.com', path: '*/messages/delta' })
  try {
    const { id } = await client.ask('POST', 'messages', { subject: 'Brings about a look' })
    await waitForRuntime(app, accountId, 'backoff')
    await client.ask('POST', `messages/${id}/permanentDelete`)
    await act()
  } finally {
    await sandbox.clearFaults()
    await askForSync(app, accountId)
  }
}

/** Waits for a look at everything that other clients have done before. */
async function waitForLook({ client, messages }: GraphAccount): Promise<void> {
  const subject = `${SEEN} ${Math.random()}`
  await client.ask('POST', 'messages', { subject })
  await waitUntil('a look', async () => (await messages()).some(message => message.subject === subject))
}

describe('a draft that another client of Exchange edits between two looks', () => {
  test('is not replaced under its former ETag, and is under its new one', async () => {
    const eva = await openDrafting()
    const { app } = opened
    const draft = await create(eva)
    await withoutLooks(eva, async () => {
      await eva.edit(draft)
      const put = (etag: string) =>
        app.put<Message>(`${eva.path}/${draft.id}`, contentOf('x@example.com', 'Again'), { 'if-match': etag })
      expect(await put(draft.etag)).toMatchObject(CONFLICT)
      expect(await eva.drafts()).toEqual(['Mine THEIRS'])
      const read = await eva.read(draft)
      expect(read.etag).not.toBe(draft.etag)
      expect(read.text).toContain('THEIRS')
      expect(await put(read.etag!)).toMatchObject({ status: 200, body: { id: draft.id, subject: 'Again' } })
      expect(await eva.drafts()).toEqual(['Again MINE'])
    })
    await waitForLook(eva)
    expect(await eva.events(draft)).toEqual([
      'message.created Mine',
      expect.stringMatching(/^message\.updated Again .*subject/),
    ])
  })

  test('is taken over by the index, and then replaced, without If-Match', SOAK, async () => {
    const eva = await openDrafting()
    const draft = await create(eva)
    await withoutLooks(eva, async () => {
      await eva.edit(draft, { subject: 'Theirs', body: LATER })
      const put = await opened.app.put<Message>(
        `${eva.path}/${draft.id}`,
        contentOf('x@example.com', 'Again'),
      )
      expect(put).toMatchObject({ status: 200, body: { id: draft.id, subject: 'Again' } })
    })
    await waitForLook(eva)
    expect(await eva.drafts()).toEqual(['Again MINE'])
    expect(await eva.events(draft)).toEqual([
      'message.created Mine',
      'message.updated Theirs subject',
      expect.stringMatching(/^message\.updated Again .*subject/),
    ])
  })

  test('is not deleted under its former ETag, and is without one', async () => {
    const eva = await openDrafting()
    const { app } = opened
    const draft = await create(eva)
    const remove = (headers = {}) => app.delete(`${eva.path}/${draft.id}`, undefined, headers)
    await withoutLooks(eva, async () => {
      await eva.edit(draft, { subject: 'Theirs' })
      expect(await remove({ 'if-match': draft.etag })).toMatchObject(CONFLICT)
      expect(await eva.drafts()).toEqual(['Theirs MINE'])
      expect(await remove()).toMatchObject({ status: 200, body: null })
      expect(await eva.drafts()).toEqual([])
    })
    await waitForLook(eva)
    expect(await eva.events(draft)).toEqual([
      'message.created Mine',
      'message.updated Theirs subject',
      'message.deleted Theirs',
    ])
  })

  test('is sent as it is now, to those whom it names now', async () => {
    const eva = await openDrafting()
    const finn = await connectGraph(opened)
    const { app } = opened
    const draft = await create(eva)
    await withoutLooks(eva, async () => {
      await eva.edit(draft, {
        subject: 'Theirs',
        body: LATER,
        toRecipients: [{ emailAddress: { address: finn.email } }],
      })
      const send = (headers = {}) => app.post<OutboxEntry>(`${eva.path}/${draft.id}/send`, {}, headers)
      expect(await send({ 'if-match': draft.etag })).toMatchObject(CONFLICT)
      const { status, body } = await send()
      expect({ status, body }).toMatchObject({
        status: 200,
        body: { subject: 'Theirs', to: [{ address: finn.email }] },
      })
      await waitForStatus(app, body, 'sent')
      await waitUntil('the draft to be removed', async () => (await eva.drafts()).length === 0)
    })
    const arrived = await waitUntil('the arrival', async () => (await finn.messages())[0] ?? null)
    const { body } = await app.get<Message>(`/v1/accounts/${finn.accountId}/messages/${arrived.id}`)
    expect(body.subject).toBe('Theirs')
    expect(body.body?.text).toContain('THEIRS')
  })

  test('stays after it was sent as it was before', SOAK, async () => {
    const eva = await openDrafting()
    const finn = await connectGraph(opened)
    const { app } = opened
    const draft = await create(eva, finn.email)
    const { body: entry } = await app.post<OutboxEntry>(`${eva.path}/${draft.id}/send`, {
      undoSendSeconds: 60,
    })
    await withoutLooks(eva, async () => {
      await eva.edit(draft)
      await app.patch(`/v1/accounts/${eva.accountId}/outbox/${entry.id}`, { sendAt: null })
      await waitForStatus(app, entry, 'sent')
      // The index takes the edit over when the draft is looked at for its removal.
      await waitUntil('the look at the draft', async () => (await eva.read(draft)).etag !== draft.etag)
    })
    await waitUntil('the arrival', async () => (await finn.messages()).length === 1)
    await waitForLook(eva)
    expect(await eva.drafts()).toEqual(['Mine THEIRS'])
    expect((await eva.read(draft)).status).toBe(200)
  })

  test('is not taken for deleted if Exchange does not find it just after it was written', async () => {
    const eva = await openDrafting()
    const { app } = opened
    const draft = await create(eva)
    const remove = () => app.delete(`${eva.path}/${draft.id}`)
    await withoutLooks(eva, async () => {
      await eva.client.ask('POST', `messages/${draft.key}/permanentDelete`)
      expect(await remove()).toMatchObject({ status: 502, body: { code: 'provider_unavailable' } })
      await sql`update message set received_at = received_at - interval '2 minutes' where id = ${draft.id}`.execute(
        app.db,
      )
      expect(await remove()).toMatchObject({ status: 200, body: null })
    })
  })

  test('is removed for good with a former content that is left of it', SOAK, async () => {
    const eva = await openDrafting()
    const { app, sandbox } = opened
    const draft = await create(eva)
    await sandbox.addFault({ does: 'error', status: 503, path: '*/permanentDelete' })
    const put = await app.put<Message>(`${eva.path}/${draft.id}`, contentOf('x@example.com', 'Again'))
    expect(put.status).toBe(200)
    expect((await eva.drafts()).toSorted()).toEqual(['Again MINE', 'Mine MINE'])
    await waitUntil('the job to wait for its next attempt', async () => {
      const { rows } = await sql`update job set due_at = due_at + interval '1 hour'
        where kind = 'settle_draft' and attempts > 0 and claimed_by is null returning id`.execute(app.db)
      return rows.length > 0
    })
    await sandbox.clearFaults()
    const message = `/v1/accounts/${eva.accountId}/messages/${draft.id}`
    expect(await app.delete(`${message}?permanent=true`)).toMatchObject({ status: 200 })
    expect(await eva.drafts()).toEqual([])
  })

  test('that was sent meanwhile is not deleted, and its copy stays', async () => {
    const eva = await openDrafting()
    const draft = await create(eva)
    await withoutLooks(eva, async () => {
      await eva.client.ask('POST', `messages/${draft.key}/send`)
      // Until its copy is there, the draft cannot be distinguished from one that Exchange does not find yet.
      await waitUntil('the copy at Exchange', async () => {
        const copies = await eva.client.all('mailFolders/sentitems/messages?$select=id')
        return copies.length === 1
      })
      const gone = { status: 404, body: { code: 'provider_not_found' } }
      expect(await opened.app.delete(`${eva.path}/${draft.id}`)).toMatchObject(gone)
      expect(await opened.app.put(`${eva.path}/${draft.id}`, contentOf('x@example.com'))).toMatchObject(gone)
    })
    const sent = await waitUntil('the copy', async () =>
      (await eva.messages()).find(({ isDraft, subject }) => !isDraft && subject === 'Mine'),
    )
    expect(sent.id).toBe(draft.id)
    expect(await eva.client.all('mailFolders/sentitems/messages?$select=id')).toHaveLength(1)
  })
})

describe('a draft that another client of Exchange edits while a request is under way', () => {
  test('is not replaced under its ETag, and is without one', async () => {
    const eva = await openDrafting()
    const draft = await create(eva)
    let edits = 0
    reach = async point => {
      if (point === 'draft_append' && edits++ === 0) await eva.edit(draft)
    }
    const put = (headers = {}) =>
      opened.app.put<Message>(`${eva.path}/${draft.id}`, contentOf('x@example.com', 'Again'), headers)
    expect(await put({ 'if-match': draft.etag })).toMatchObject(CONFLICT)
    expect(await eva.drafts()).toEqual(['Mine THEIRS'])
    edits = 0
    await waitForLook(eva)
    expect(await put()).toMatchObject({ status: 200 })
    reach = () => {}
    expect(edits).toBeGreaterThan(1)
    expect(await eva.drafts()).toEqual(['Again MINE'])
  })

  test('is sent with one of its contents whole, or refused', SOAK, async () => {
    const eva = await openDrafting()
    const finn = await connectGraph(opened)
    const { app } = opened
    const draft = await create(eva, finn.email)
    let edits = 0
    reach = async point => {
      if (point === 'content_write' && edits++ === 0) await eva.edit(draft)
    }
    const send = (headers = {}) => app.post<OutboxEntry>(`${eva.path}/${draft.id}/send`, {}, headers)
    expect(await send({ 'if-match': draft.etag })).toMatchObject(CONFLICT)
    expect(
      (await app.get<{ items: OutboxEntry[] }>(`/v1/accounts/${eva.accountId}/outbox`)).body.items,
    ).toEqual([])
    edits = 0
    reach = async point => {
      if (point === 'content_write' && edits++ === 0)
        await eva.edit(draft, { body: { contentType: 'html', content: `<p>${longText('OTHERS')}</p>` } })
    }
    const { status, body: entry } = await send()
    reach = () => {}
    expect({ status, edits }).toEqual({ status: 200, edits: 2 })
    await waitForStatus(app, entry, 'sent')
    const arrived = await waitUntil('the arrival', async () => (await finn.messages())[0] ?? null)
    const { body } = await app.get<Message>(`/v1/accounts/${finn.accountId}/messages/${arrived.id}`)
    expect(body.body?.html).toContain('OTHERS')
    await waitUntil('the draft to be removed', async () => (await eva.drafts()).length === 0)
  })
})

describe('the ETag of a draft of Exchange', () => {
  test('is another one after an edit that no list shows, and the same after changes of flags', async () => {
    const eva = await openDrafting()
    const draft = await create(eva)
    const path = `/v1/accounts/${eva.accountId}/messages/${draft.id}`
    await opened.app.patch(path, { isFlagged: true })
    await eva.edit(draft, { categories: ['Red category'] })
    await waitForLook(eva)
    expect((await opened.app.get<Message>(path)).body).toMatchObject({
      isFlagged: true,
      categories: ['Red category'],
    })
    expect((await eva.read(draft)).etag).toBe(draft.etag)
    await eva.edit(draft)
    await waitForLook(eva)
    const { etag } = await eva.read(draft)
    expect(etag).not.toBe(draft.etag)
    // As long as the text before.
    await eva.edit(draft, { body: { contentType: 'text', content: longText('OTHERS') } })
    await waitForLook(eva)
    expect((await eva.read(draft)).etag).not.toBe(etag)
  })
})

describe('a draft that was written in Outlook', () => {
  const file = (name: string, text: string) => ({
    '@odata.type': '#microsoft.graph.fileAttachment',
    name,
    contentType: 'application/pdf',
    contentBytes: Buffer.from(text).toString('base64'),
  })

  test('keeps its attachments while it is edited and sent', async () => {
    const eva = await openDrafting()
    const finn = await connectGraph(opened)
    const { app } = opened
    const { id: key } = await eva.client.ask('POST', 'messages', {
      subject: 'Theirs',
      body: { contentType: 'html', content: '<p>See <b>both</b>.</p>' },
      toRecipients: [{ emailAddress: { address: finn.email } }],
      attachments: [file('one.pdf', 'ONE')],
    })
    await eva.client.ask('POST', `messages/${key}/attachments`, file('two.pdf', 'TWO'))
    const summary = await waitUntil('the draft', async () => {
      const [found] = await eva.messages()
      return found?.hasAttachments ? found : null
    })
    const path = `/v1/accounts/${eva.accountId}/messages/${summary.id}`
    const read = await waitUntil('both files', async () => {
      const { body } = await app.get<Message>(path)
      return body.attachments.length === 2 ? body : null
    })
    // One of them stays, under another subject.
    const [first] = read.attachments
    const put = await app.put<Message>(`${eva.path}/${summary.id}`, {
      to: read.to,
      subject: 'Edited',
      html: '<p>See <b>one</b>.</p>',
      attachments: [{ messageId: summary.id, attachmentId: first!.id }],
    })
    expect(put).toMatchObject({ status: 200, body: { attachments: [{ filename: 'one.pdf', size: 3 }] } })
    const [{ id: edited }] = await eva.client.all('mailFolders/drafts/messages?$select=id')
    await eva.client.ask('POST', `messages/${edited}/attachments`, file('three.pdf', 'THREE'))

    const sent = await app.post<OutboxEntry>(`${eva.path}/${summary.id}/send`, {})
    expect(sent.status).toBe(200)
    await waitForStatus(app, sent.body, 'sent')
    const arrived = await waitUntil('the arrival', async () => (await finn.messages())[0] ?? null)
    const source = await app.get<string>(`/v1/accounts/${finn.accountId}/messages/${arrived.id}/raw`)
    const [parsed] = askPython([Buffer.from(source.body, 'latin1')])
    const files = parsed!.parts.filter(({ filename }) => filename !== null)
    expect(files.map(({ filename, content }) => [filename, atob(content!)]).toSorted()).toEqual([
      ['one.pdf', 'ONE'],
      ['three.pdf', 'THREE'],
    ])
    await waitUntil('the draft to be removed', async () => (await eva.drafts()).length === 0)
  })
})
