import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Message } from '@waxwing/contract/mail/messages.ts'
import type { TestApp } from '../open-app.ts'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { openSyncApp, readMessages } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { type ChangingAccount, openChangingAccount } from './changing-account.ts'
import { casesFor } from '../soak.ts'

let app: TestApp
beforeAll(async () => {
  app = await openSyncApp({ roles: ['api', 'sync', 'jobs'], config: { connectionsPerHost: 100 } })
})
afterAll(() => app[Symbol.asyncDispose]())

const GRACE = { name: 'Grace Hopper', address: 'grace@example.org' }
const BODY = {
  to: [GRACE],
  bcc: [{ address: 'hidden@example.org' }],
  subject: 'Grüße',
  text: 'Hello, Grace.\n',
}

const ofDrafts = (events: string[]) =>
  events.filter(event => event.startsWith('message.') && !event.includes(' pass '))

async function rawOf({ path }: ChangingAccount, id: string): Promise<string> {
  return (await app.get<string>(`${path}/messages/${id}/raw`)).body
}

/** Does the work while nobody follows the account, so that the sync meets all of it at once. */
async function whilePaused({ path, accountId }: ChangingAccount, work: () => Promise<void>) {
  expect(await app.patch(path, { status: 'paused' })).toMatchObject({ status: 200 })
  await waitUntil('nobody to own the account', async () => {
    const { rows } =
      await sql`select from account where id = ${accountId} and owner_instance is null`.execute(app.db)
    return rows.length === 1
  })
  await work()
  expect(await app.patch(path, { status: 'active' })).toMatchObject({ status: 200 })
}

async function openAccount(account: Promise<ChangingAccount>) {
  const opened = await account
  const create = async (body: Record<string, unknown> = BODY, headers = {}) =>
    app.post<Message>(`${opened.path}/drafts`, body, headers)
  const replace = (id: string, body: Record<string, unknown>, headers = {}) =>
    app.put<Message>(`${opened.path}/drafts/${id}`, body, headers)
  const remove = (id: string, headers = {}) => app.delete(`${opened.path}/drafts/${id}`, undefined, headers)
  const read = (id: string) => app.get<Message>(`${opened.path}/messages/${id}`)
  return { account: opened, create, replace, remove, read }
}

/** For the tests of a server, beside those of the others. */
const ONE_BY_ONE = { concurrent: false }

/** The one that can do least. */
const SERVERS = casesFor(SERVER_KINDS, ({ name }) => name === 'a poor Dovecot')

describe.each(SERVERS)('drafts on $name', { concurrent: true }, ({ start }) => {
  const useIt = useServer(start)
  const open = (arrange: (world: ChangingAccount['world']) => Promise<unknown> = async () => {}) =>
    openAccount(openChangingAccount(app, useIt(), arrange))
  const letter =
    'From: Grace <grace@example.org>\r\nSubject: Question\r\nMessage-ID: <q@a.test>\r\nReferences: <p@a.test>\r\n\r\nWhat?\r\n'

  test('creates the mailbox of drafts with the first one, where there is none', ONE_BY_ONE, async () => {
    const { account, create, replace, read } = await open()
    await using _ = account
    const { status, body } = await create()
    expect(status).toBe(200)
    expect((await read(body.id)).body).toEqual(body)

    const replaced = await replace(body.id, { ...BODY, text: 'Second\n' })
    expect(replaced).toMatchObject({ status: 200, body: { id: body.id, snippet: 'Second' } })
    expect(await account.truth()).toHaveLength(1)
    expect(ofDrafts(await account.settledFeed())).toEqual([
      'message.created Grüße',
      expect.stringMatching(/^message\.updated Grüße snippet/),
    ])
  })

  test(
    'reads the first draft while the sync looks into its mailbox for the first time',
    ONE_BY_ONE,
    async () => {
      const { account, create, read } = await open()
      await using _ = account
      const { id } = (await create()).body
      const looking = { isOver: false }
      const answers = new Set<number>()
      const readOn = async () => {
        while (!looking.isOver) answers.add((await read(id)).status)
      }
      const look = account.settledFeed().finally(() => (looking.isOver = true))
      await Promise.all([look, readOn()])
      expect([...answers]).toEqual([200])
    },
  )

  test('creates a draft, which reads as it was written, and is announced once', ONE_BY_ONE, async () => {
    const { account, create, read } = await open()
    await using _ = account

    const { status, body, headers } = await create({
      ...BODY,
      attachments: [{ filename: 'a.txt', contentType: 'text/plain', content: 'YWJj' }],
    })

    expect({ status, body }).toMatchObject({
      status: 200,
      body: {
        subject: 'Grüße',
        to: [GRACE],
        bcc: [{ name: null, address: 'hidden@example.org' }],
        isDraft: true,
        isRead: true,
        direction: 'outbound',
        hasAttachments: true,
        snippet: 'Hello, Grace.',
        attachments: [{ filename: 'a.txt', size: 3 }],
      },
    })
    const again = await read(body.id)
    expect(again.body).toEqual(body)
    expect(again.headers.get('etag')).toBe(headers.get('etag'))
    expect(headers.get('etag')).toMatch(/^"[\w.-]+"$/)
    expect(await account.truth()).toEqual([expect.stringMatching(/Drafts: .* \\Draft \\Seen$/)])
    expect(ofDrafts(await account.settledFeed())).toEqual(['message.created Grüße'])
    expect((await account.message('Grüße')).id).toBe(body.id)
    expect(await rawOf(account, body.id)).toMatch(/^Bcc: hidden@example.org\r\n/)
  })

  test(
    'replaces a draft under its id, Message-ID, References and thread, and announces one update',
    ONE_BY_ONE,
    async () => {
      const { account, create, replace, read } = await open(world => world.deliver({ raw: letter }))
      await using _ = account
      const original = await account.message('Question')
      const first = await create({ ...BODY, subject: undefined, inReplyTo: original.id })
      expect(first.body).toMatchObject({ subject: 'Re: Question', threadId: original.threadId })

      const second = await replace(first.body.id, { subject: 'Answer', html: '<p>Second</p>' })

      const { id, internetMessageId, threadId } = first.body
      expect(second).toMatchObject({
        status: 200,
        body: { id, internetMessageId, threadId, subject: 'Answer', to: [], body: { html: '<p>Second</p>' } },
      })
      expect(second.headers.get('etag')).not.toBe(first.headers.get('etag'))
      const third = await replace(id, { subject: 'Answer 3', text: 'Third' })
      expect(third.body).toMatchObject({ id, internetMessageId, threadId, snippet: 'Third' })
      const raw = await rawOf(account, id)
      expect(raw).toContain('References: <p@a.test>')
      expect(raw).toContain('In-Reply-To: <q@a.test>')
      expect((await read(id)).body).toEqual(third.body)
      expect((await account.truth()).map(line => line.slice(line.indexOf(':') + 2))).toEqual(
        expect.arrayContaining(['Answer 3 \\Draft \\Seen', 'Question']),
      )
      expect(await account.truth()).toHaveLength(2)
      const events = ofDrafts(await account.settledFeed())
      expect(events.map(event => event.split(' ').slice(0, 3).join(' '))).toEqual([
        'message.created Re: Question',
        'message.updated Answer subject',
        'message.updated Answer 3',
      ])
      expect((await read(id)).body).toEqual(third.body)
    },
  )

  test('keeps attachments that are named by the draft itself', ONE_BY_ONE, async () => {
    const { account, create, replace } = await open()
    await using _ = account
    const content = Buffer.alloc(3000, 'wax').toString('base64')
    const { body: draft } = await create({ ...BODY, attachments: [{ filename: 'w.bin', content }] })

    const kept = { messageId: draft.id, attachmentId: draft.attachments[0]!.id }
    const { body } = await replace(draft.id, { subject: 'With file', attachments: [kept] })

    expect(body.attachments).toMatchObject([{ filename: 'w.bin', size: 3000 }])
    const { body: bytes } = await app.get(
      `${account.path}/messages/${draft.id}/attachments/${body.attachments[0]!.id}`,
    )
    expect(bytes).toBe('wax'.repeat(1000))
  })

  test('deletes a draft for good', ONE_BY_ONE, async () => {
    const { account, create, remove } = await open()
    await using _ = account
    const { body } = await create()

    expect(await remove(body.id)).toMatchObject({ status: 200, body: null })

    expect(await account.truth()).toEqual([])
    expect(await remove(body.id)).toMatchObject({ status: 404, body: { code: 'draft_not_found' } })
    expect(ofDrafts(await account.settledFeed())).toEqual(['message.created Grüße', 'message.deleted Grüße'])
  })

  test('refuses a condition that no longer fits, and changes nothing', ONE_BY_ONE, async () => {
    const { account, create, replace, remove, read } = await open()
    await using _ = account
    const { body: draft, headers } = await create()
    const first = { 'if-match': headers.get('etag')! }
    const { headers: now } = await replace(draft.id, { subject: 'two' }, first)

    const stale = await replace(draft.id, { subject: 'three' }, first)

    expect(stale).toMatchObject({ status: 409, body: { code: 'provider_conflict' } })
    expect(await remove(draft.id, first)).toMatchObject({ status: 409, body: { code: 'provider_conflict' } })
    expect(await read(draft.id)).toMatchObject({ body: { subject: 'two' } })
    expect(await remove(draft.id, { 'if-match': now.get('etag')! })).toMatchObject({ status: 200 })
  })

  test(
    'keeps the id of a draft that another client saves again, and refuses the old ETag',
    ONE_BY_ONE,
    async () => {
      const { account, create, replace, read } = await open()
      await using _ = account
      const { body: draft, headers } = await create()
      const drafts = (await account.mailbox('Drafts')).path
      const [uid = 0] = await account.world.uids(drafts)
      const theirs = `From: ${account.user.email}\r\nSubject: Theirs\r\nMessage-ID: ${draft.internetMessageId}\r\nReferences: <r@a.test>\r\n\r\nTheir text\r\n`
      await whilePaused(account, async () => {
        await account.world.deliver({ raw: theirs, flags: ['\\Draft', '\\Seen'] }, drafts)
        await account.world.expunge(drafts, [uid])
      })

      const stale = await replace(draft.id, { subject: 'Ours' }, { 'if-match': headers.get('etag')! })
      expect(stale).toMatchObject({ status: 409, body: { code: 'provider_conflict' } })

      await waitUntil('the draft to be updated', () => account.message('Theirs').catch(() => null))
      const events = ofDrafts(await account.settledFeed())
      expect(events[0]).toBe('message.created Grüße')
      expect(events[1]).toMatch(/^message.updated Theirs .*subject/)
      expect(events).toHaveLength(2)
      expect(await read(draft.id)).toMatchObject({ body: { id: draft.id, subject: 'Theirs' } })

      const ours = await replace(draft.id, { subject: 'Ours again' })
      expect(ours).toMatchObject({ status: 200, body: { id: draft.id, subject: 'Ours again' } })
      expect(await account.truth()).toHaveLength(1)
      expect(await rawOf(account, draft.id)).toContain('References: <r@a.test>')
    },
  )

  test(
    'keeps the id of a draft that another client saves again, if the sync meets both',
    ONE_BY_ONE,
    async () => {
      const { account, create, read } = await open()
      await using _ = account
      const { body: draft } = await create()
      const drafts = (await account.mailbox('Drafts')).path
      const [uid = 0] = await account.world.uids(drafts)
      const theirs = `Subject: Theirs\r\nMessage-ID: ${draft.internetMessageId}\r\n\r\nTheir text\r\n`
      await account.world.deliver({ raw: theirs, flags: ['\\Draft'] }, drafts)
      await account.lookNow()
      const saved = await waitUntil('the sync to meet it', () => account.message('Theirs').catch(() => null))
      expect(saved.id).not.toBe(draft.id)
      await account.world.expunge(drafts, [uid])

      await account.lookNow()
      await waitUntil(
        'the draft to be updated',
        async () => (await account.message('Theirs')).id === draft.id,
      )

      expect(await read(draft.id)).toMatchObject({
        body: {
          id: draft.id,
          isDraft: true,
          subject: 'Theirs',
          body: { text: expect.stringContaining('Their text') },
        },
      })
      const events = ofDrafts(await account.settledFeed())
      expect(events.slice(0, 2)).toEqual(['message.created Grüße', 'message.created Theirs'])
      expect(events).toContain('message.deleted Theirs')
      expect(events.find(event => event.startsWith('message.updated'))).toMatch(
        /^message.updated Theirs .*subject/,
      )
      expect(events).toHaveLength(4)
    },
  )

  test('replaces what another client has saved before the sync has seen it', ONE_BY_ONE, async () => {
    const { account, create, replace } = await open()
    await using _ = account
    const { body: draft } = await create()
    const drafts = (await account.mailbox('Drafts')).path
    const [uid = 0] = await account.world.uids(drafts)
    await account.world.expunge(drafts, [uid])
    const theirs = `Subject: Theirs\r\nMessage-ID: ${draft.internetMessageId}\r\n\r\nTheir text\r\n`
    await account.world.deliver({ raw: theirs, flags: ['\\Draft'] }, drafts)

    const { status, body } = await replace(draft.id, { subject: 'Ours' })

    expect({ status, body }).toMatchObject({ status: 200, body: { id: draft.id, subject: 'Ours' } })
    expect(await account.truth()).toEqual([expect.stringContaining(': Ours')])
    await account.settledFeed()
    expect((await account.message('Ours')).id).toBe(draft.id)
    expect(await account.truth()).toHaveLength(1)
  })

  /** A draft, and a copy of it that another client has made in its mailbox and that is a message of its own. */
  async function createCopied() {
    const opened = await open()
    const { account, create } = opened
    const { body: draft } = await create({ ...BODY, subject: 'First' })
    const drafts = (await account.mailbox('Drafts')).path
    const [uid = 0] = await account.world.uids(drafts)
    await account.world.copy(drafts, [uid], drafts)
    await account.lookNow()
    const copied = await waitUntil('the sync to meet the copy', async () =>
      (await readMessages(app, account.accountId)).find(({ id }) => id !== draft.id),
    )
    const subjects = async () => (await account.truth()).map(line => line.split(' ')[1]).toSorted()
    return { ...opened, draft, drafts, copyId: copied.id, subjects }
  }

  test('leaves copies of a draft that another client has made', ONE_BY_ONE, async () => {
    const { account, draft, copyId, replace, remove, read, subjects } = await createCopied()
    await using _ = account

    for (const subject of ['Second', 'Third']) {
      expect(await replace(draft.id, { ...BODY, subject })).toMatchObject({ status: 200 })
      await account.settledFeed()
      expect(await subjects()).toEqual(['First', subject])
    }
    expect(await remove(draft.id)).toMatchObject({ status: 200 })

    await account.settledFeed()
    expect(await subjects()).toEqual(['First'])
    expect(await read(copyId)).toMatchObject({ body: { id: copyId, subject: 'First' } })
  })

  test(
    'leaves a copy of a draft that the sync has not met when the draft is deleted',
    ONE_BY_ONE,
    async () => {
      const { account, create, remove, read } = await open()
      await using _ = account
      const { body: draft } = await create({ ...BODY, subject: 'First' })
      const drafts = (await account.mailbox('Drafts')).path
      const [uid = 0] = await account.world.uids(drafts)
      await account.world.copy(drafts, [uid], drafts)

      expect(await remove(draft.id)).toMatchObject({ status: 200 })

      expect(await account.truth()).toEqual([expect.stringContaining(': First')])
      await account.lookNow()
      const { id } = await waitUntil('the copy', () => account.message('First').catch(() => null))
      expect(await read(id)).toMatchObject({ status: 200 })
    },
  )

  test('leaves copies of a draft when it is settled after an interruption', ONE_BY_ONE, async () => {
    const { account, draft, drafts, copyId, read, subjects } = await createCopied()
    await using _ = account
    const raw = (await rawOf(account, draft.id)).replace(/ generation=1\b/, ' generation=7')

    await account.world.deliver(
      { raw: raw.replace(/^Subject: .*$/m, 'Subject: Later'), flags: ['\\Draft'] },
      drafts,
    )

    await account.lookNow()
    await waitUntil('the former content to be removed', async () => (await subjects()).length === 2)
    expect(await subjects()).toEqual(['First', 'Later'])
    await account.settledFeed()
    expect(await read(draft.id)).toMatchObject({ body: { subject: 'Later' } })
    expect(await read(copyId)).toMatchObject({ body: { subject: 'First' } })
  })

  test('replaces a draft that another client wrote', ONE_BY_ONE, async () => {
    const { account, replace } = await open(async world => {
      const drafts = world.at('Drafts')
      await world.createMailbox(drafts).catch(() => {})
      await world.deliver(
        {
          raw: 'Subject: Foreign\r\nMessage-ID: <f@a.test>\r\nReferences: <r@a.test>\r\n\r\nText\r\n',
          flags: ['\\Draft'],
        },
        drafts,
      )
    })
    await using _ = account
    const { id, threadId } = await account.message('Foreign')

    const { status, body } = await replace(id, { subject: 'Ours', text: 'Our text' })

    expect({ status, body }).toMatchObject({
      status: 200,
      body: { id, threadId, internetMessageId: '<f@a.test>', subject: 'Ours' },
    })
    expect(await account.truth()).toEqual([expect.stringContaining(': Ours')])
    expect(await rawOf(account, id)).toContain('References: <r@a.test>')
    expect(ofDrafts(await account.settledFeed())).toEqual([
      expect.stringMatching(/^message.updated Ours .*subject/),
    ])
  })

  test('refuses what is no draft, and what a draft cannot be', ONE_BY_ONE, async () => {
    const { account, create, replace, remove } = await open(world => world.deliver({ raw: letter }))
    await using _ = account
    const { id } = await account.message('Question')
    const unknown = '01a1fc15-0c9b-7d0a-a4f7-3f5b1c2d9e22'

    const answers = await Promise.all([
      replace(id, {}),
      remove(id),
      replace(unknown, {}),
      remove('nonsense'),
      create({ from: { address: 'mallory@example.org' } }),
      create({ inReplyTo: unknown }),
      create({ forwardOf: unknown }),
      create({ subject: 'one\r\ntwo' }),
      create({ sendAt: null }),
    ])

    expect(answers.map(({ status, body }) => [status, (body as { code?: string }).code])).toEqual([
      [400, 'not_a_draft'],
      [400, 'not_a_draft'],
      [404, 'draft_not_found'],
      [404, 'draft_not_found'],
      [400, 'from_not_allowed'],
      [422, 'unknown_reply_target'],
      [422, 'unknown_message'],
      [400, 'invalid_input'],
      [400, 'invalid_input'],
    ])
    expect(await account.truth()).toHaveLength(1)
  })

  test('answers a repeated key with the first draft', ONE_BY_ONE, async () => {
    const { account, create } = await open()
    await using _ = account
    const key = { 'idempotency-key': `key-${account.accountId}` }

    const [first, second] = [await create(BODY, key), await create(BODY, key)]

    expect(second.body).toEqual(first.body)
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(second.headers.get('etag')).toBe(first.headers.get('etag'))
    expect(await account.truth()).toHaveLength(1)
  })
})
