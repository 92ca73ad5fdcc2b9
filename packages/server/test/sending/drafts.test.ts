import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Mailbox } from '@waxwing/contract/mail/mailboxes.ts'
import type { Message, MessageSummary } from '@waxwing/contract/mail/messages.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { parse } from '../bodies/facts.ts'
import { startChaosProxy } from '../servers/chaos-proxy.ts'
import { openWorld, type World } from '../servers/world.ts'
import { QUICK_PACE, readMailboxes, readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { connectSender, GRACE, openSendingApp, type SendingApp, waitForStatus } from './open-sending.ts'

let sending: SendingApp
/** Called with each moment of the service that a test may end. */
let reach: (point: string) => Promise<void> | void = () => {}
beforeAll(async () => {
  sending = await openSendingApp({
    app: {
      roles: ['api', 'jobs', 'sync'],
      pace: QUICK_PACE,
      reachPoint: point => reach(point),
      config: { linksUrl: 'https://links.example.com' },
    },
  })
})
afterAll(() => sending[Symbol.asyncDispose]())

const BODY = { to: [GRACE], bcc: [{ address: 'hidden@example.org' }], subject: 'Hello', text: 'Hello.\n' }

async function openDrafts(imap: { host: string; port: number } = sending.imap) {
  const user = await sending.imap.addUser()
  const world = await openWorld(sending.imap, user)
  await world.createMailbox('Drafts').catch(() => {})
  const server = { ...sending, imap: { ...sending.imap, host: imap.host, port: imap.port } }
  const accountId = await connectSender(sending.app, server, { user })
  await waitForFirstSync(sending.app, accountId)
  const path = `/v1/accounts/${accountId}`
  const send = (id: string, body: object = {}, headers = {}) =>
    sending.app.post<OutboxEntry>(`${path}/drafts/${id}/send`, body, headers)
  const accepted = async (entry: OutboxEntry) =>
    (await sending.sink.accepted()).filter(({ content }) => content.includes(entry.internetMessageId))
  return {
    user,
    world,
    accountId,
    path,
    send,
    accepted,
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

const create = async (path: string, body: object = BODY) =>
  (await sending.app.post<Message>(`${path}/drafts`, body)).body
const read = (path: string, id: string) => sending.app.get<Message>(`${path}/messages/${id}`)

async function findSubject(accountId: string, subject: string): Promise<MessageSummary> {
  return waitUntil(`the sync to bring ${subject}`, async () => {
    const found = await readMessages(sending.app, accountId)
    return found.find(message => message.subject === subject) ?? null
  })
}

const countDrafts = async (world: World) => (await world.uids('Drafts')).length

describe('a draft that is sent', () => {
  test('goes out as it is, without Bcc, and is removed', async () => {
    await using account = await openDrafts()
    const draft = await create(account.path)

    const { status, body: entry } = await account.send(draft.id, { reference: 'r-1' })

    expect({ status, entry }).toMatchObject({
      status: 200,
      entry: {
        draftId: draft.id,
        subject: 'Hello',
        reference: 'r-1',
        bcc: [{ address: 'hidden@example.org' }],
      },
    })
    await waitForStatus(sending.app, entry, 'sent')
    const [message] = await account.accepted(entry)
    expect(message?.to.toSorted()).toEqual(['grace@example.org', 'hidden@example.org'])
    expect(message?.content).not.toMatch(/hidden@|X-Waxwing-Draft/)
    expect(entry.internetMessageId).not.toBe(draft.internetMessageId)
    await waitUntil(
      'the draft to be removed',
      async () => (await read(account.path, draft.id)).status === 404 || null,
    )
    await account.world.witness.command('NOOP')
    expect(await countDrafts(account.world)).toBe(0)
  })

  test('is tracked where that is asked for, if it has HTML', async () => {
    await using account = await openDrafts()
    const { path } = account
    const html = '<p><a href="https://example.org/">x</a></p>'
    const { body: entry } = await account.send((await create(path, { ...BODY, html })).id, {
      trackClicks: true,
      trackOpens: true,
    })
    expect(entry).toMatchObject({ trackClicks: true, trackOpens: true })
    await waitForStatus(sending.app, entry, 'sent')
    const [wire] = await account.accepted(entry)
    const tracked = parse(Buffer.from(wire?.content ?? '', 'latin1')).html
    expect(tracked).toMatch(
      /^<p><a href="https:\/\/links\.example\.com\/t\/c\/[\w-]+">x<\/a><\/p><img src="[^"]+\.gif"/,
    )
    const plain = await account.send((await create(path)).id, { trackOpens: true })
    expect(plain).toMatchObject({ status: 400, body: { code: 'tracking_unsupported' } })
  })

  test('stays while it waits, is not sent twice, and stays when the send is cancelled', async () => {
    await using account = await openDrafts()
    const draft = await create(account.path)
    const { body: entry } = await account.send(draft.id, { undoSendSeconds: 60 })

    const [again, once] = await Promise.all([account.send(draft.id), account.send(draft.id)])

    for (const answer of [again, once])
      expect(answer).toMatchObject({ status: 409, body: { code: 'provider_conflict' } })
    await sending.app.delete(`${account.path}/outbox/${entry.id}`)
    expect(await read(account.path, draft.id)).toMatchObject({ status: 200, body: { subject: 'Hello' } })
    const answers = await Promise.all([1, 2].map(() => account.send(draft.id, { undoSendSeconds: 60 })))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409])
  })

  test('is sent as it was taken, and stays if it was changed since', async () => {
    await using account = await openDrafts()
    const draft = await create(account.path)
    const { body: entry } = await account.send(draft.id, { undoSendSeconds: 60 })
    await sending.app.put(`${account.path}/drafts/${draft.id}`, { ...BODY, subject: 'Changed' })

    await sending.app.patch(`${account.path}/outbox/${entry.id}`, { sendAt: null })

    await waitForStatus(sending.app, entry, 'sent')
    expect((await account.accepted(entry))[0]?.content).toContain('Subject: Hello\r\n')
    expect(await read(account.path, draft.id)).toMatchObject({ status: 200, body: { subject: 'Changed' } })
    expect(await countDrafts(account.world)).toBe(1)
  })

  test('keeps every byte of what another client wrote in it', async () => {
    await using account = await openDrafts()
    const body =
      'Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: 7bit\r\nX-Odd:  spaced  \r\n\r\n Odd \t text\r\n..dots\r\n'
    const former =
      'Return-Path: <x@left-out.test>\r\nResent-To: x@left-out.test\r\nSender: x@left-out.test\r\n'
    const head = `${former}From: ${account.user.email}\r\nTo: grace@example.org\r\nSubject: Theirs\r\nMessage-ID: <t@a.test>\r\nDate: Thu, 1 Jan 2026 00:00:00 +0000\r\n`
    await account.world.deliver({ raw: `${head}${body}`, flags: ['\\Draft'] }, 'Drafts')
    const { id } = await findSubject(account.accountId, 'Theirs')

    const { body: entry } = await account.send(id)

    await waitForStatus(sending.app, entry, 'sent')
    const [message] = await account.accepted(entry)
    expect(message?.content.endsWith(body)).toBe(true)
    expect(message?.content).not.toMatch(/<t@a\.test>|left-out/)
  })

  test('is refused if it cannot be sent, with the field', async () => {
    await using account = await openDrafts()
    const { email } = account.user
    const theirs = (subject: string, from: string, to: string) => ({
      raw: `From: ${from}\r\n${to}Subject: ${subject}\r\nMessage-ID: <${subject}@a.test>\r\n\r\nText\r\n`,
      flags: ['\\Draft'],
    })
    await account.world.deliver(
      [
        theirs('unreadable', email, 'To: "odd name"@example.org\r\n'),
        theirs('stranger', 'mallory@example.org', 'To: grace@example.org\r\n'),
        theirs('alone', email, ''),
      ],
      'Drafts',
    )
    const sendBy = async (subject: string) => account.send((await findSubject(account.accountId, subject)).id)

    expect(await sendBy('unreadable')).toMatchObject({
      status: 400,
      body: { code: 'invalid_input', data: { issues: [{ path: ['to'] }] } },
    })
    expect(await sendBy('stranger')).toMatchObject({ status: 400, body: { code: 'from_not_allowed' } })
    expect(await sendBy('alone')).toMatchObject({ status: 400, body: { code: 'no_recipients' } })
    const draft = await create(account.path)
    expect(await account.send(draft.id, {}, { 'if-match': '"old"' })).toMatchObject({
      status: 409,
      body: { code: 'provider_conflict' },
    })
    expect(await account.send(draft.id, { subject: 'x' })).toMatchObject({ status: 400 })
  })
})

describe('a draft whose provider loses it', () => {
  test('keeps its id, reads from a copy, and is created again', async () => {
    await using proxy = await startChaosProxy(sending.imap)
    await using account = await openDrafts(proxy)
    const draft = await create(account.path)
    // Another client removes everything as soon as the server has taken the new content. Until then neither the call
    // nor the sync, which has a connection of its own, sends another command.
    let isTaken = false
    let removing: Promise<void> | null = null
    const remove = async () => {
      await account.world.witness.command('NOOP')
      await account.world.expunge('Drafts', await account.world.uids('Drafts'))
      proxy.faults = {}
    }
    proxy.faults = {
      rewrite(line) {
        isTaken ||= /^[0-9A-F]+ OK .*APPENDUID/i.test(line)
        return line
      },
      hold: () => (isTaken ? (removing ??= remove()) : undefined),
    }
    const content = Buffer.alloc(2_000_000, 'wax').toString('base64')
    const replacement = { subject: 'Second', text: 'Two', attachments: [{ filename: 'w.bin', content }] }

    const lost = await sending.app.put(`${account.path}/drafts/${draft.id}`, replacement)

    expect(lost).toMatchObject({ status: 502, body: { code: 'draft_lost' } })
    const copy = await read(account.path, draft.id)
    expect(copy).toMatchObject({
      status: 200,
      body: { id: draft.id, subject: 'Second', body: { text: 'Two' } },
    })
    const attachmentId = copy.body.attachments[0]!.id
    const bytes = await sending.app.get<string>(
      `${account.path}/messages/${draft.id}/attachments/${attachmentId}`,
    )
    expect(bytes.body.length).toBe(2_000_000)
    // The sync looks at the mailbox, which lacks it, and leaves it alone.
    await account.world.deliver({ raw: 'Subject: news\r\nMessage-ID: <n@a.test>\r\n\r\n' }, 'Drafts')
    await findSubject(account.accountId, 'news')
    expect((await read(account.path, draft.id)).status).toBe(200)

    const kept = { messageId: draft.id, attachmentId }
    const again = await sending.app.put<Message>(`${account.path}/drafts/${draft.id}`, {
      ...replacement,
      attachments: [kept],
    })

    expect(again).toMatchObject({ status: 200, body: { id: draft.id, attachments: [{ size: 2_000_000 }] } })
    await account.world.witness.command('NOOP')
    expect(await countDrafts(account.world)).toBe(2)
    expect(await read(account.path, draft.id)).toMatchObject({ body: { subject: 'Second' } })
  })
})

describe('a request that failed after its draft was added', () => {
  test('finds that draft when it is sent again with its key', async () => {
    await using account = await openDrafts()
    const key = { 'idempotency-key': `resumed-${account.accountId}` }
    const post = () => sending.app.post<Message>(`${account.path}/drafts`, BODY, key)
    reach = point => {
      if (point === 'draft_appended') throw new Error('A fault that a test requested')
    }
    const failed = await post()
    reach = () => {}

    const { status, body } = await post()

    expect([failed.status, status]).toEqual([500, 200])
    await account.world.witness.command('NOOP')
    expect(await countDrafts(account.world)).toBe(1)
    expect((await post()).body).toEqual(body)
    // A failed request does not hold its key against another one.
    reach = () => {
      throw new Error('A fault that a test requested')
    }
    const other = { 'idempotency-key': `other-${account.accountId}` }
    await sending.app.post(`${account.path}/drafts`, BODY, other)
    reach = () => {}
    const another = await sending.app.post<Message>(`${account.path}/drafts`, { subject: 'Another' }, other)
    expect(another).toMatchObject({ status: 200, body: { subject: 'Another' } })
    expect(another.body.id).not.toBe(body.id)
  })

  test('finds its mailbox, too', async () => {
    await using proxy = await startChaosProxy(sending.imap)
    await using account = await openDrafts(proxy)
    const key = { 'idempotency-key': `mailbox-${account.accountId}` }
    const post = (name: string, headers = {}) =>
      sending.app.post<Mailbox>(`${account.path}/mailboxes`, { name }, headers)
    // The server has created the mailbox, and the service does not get its answer.
    proxy.faults = {
      judge(moment, command) {
        if (moment !== 'answered' || !/^CREATE /i.test(command)) return 'pass'
        proxy.faults = {}
        return 'cut'
      },
    }
    expect((await post('Post', key)).status).toBeGreaterThanOrEqual(500)

    const resumed = await post('Post', key)

    expect(resumed).toMatchObject({ status: 200, body: { name: 'Post' } })
    expect((await post('Post', key)).body).toEqual(resumed.body)
    expect(await post('Post', { 'idempotency-key': `other-${account.accountId}` })).toMatchObject({
      status: 409,
      body: { code: 'provider_conflict' },
    })
    expect(await post('Post')).toMatchObject({ status: 409 })
  })
})

describe('a draft whose mailbox is renamed while it is replaced', () => {
  test('stays in it, under its id', async () => {
    await using account = await openDrafts()
    await account.world.createMailbox('Letters')
    const raw = 'Message-ID: <letter@example.com>\r\nSubject: A letter\r\n\r\nDear Grace,\r\n'
    await account.world.deliver({ raw, flags: ['\\Draft'] }, 'Letters')
    const { id } = await findSubject(account.accountId, 'A letter')
    const mailboxes = await readMailboxes(sending.app, account.accountId)
    const letters = mailboxes.find(({ path }) => path === 'Letters')
    reach = async point => {
      if (point !== 'draft_appended') return
      const renamed = await sending.app.patch(`${account.path}/mailboxes/${letters?.id}`, { name: 'Post' })
      expect(renamed.status).toBe(200)
    }
    const replaced = await sending.app.put<Message>(`${account.path}/drafts/${id}`, {
      ...BODY,
      subject: 'Again',
    })
    reach = () => {}

    expect(replaced).toMatchObject({
      status: 200,
      body: { id, subject: 'Again', mailboxIds: [letters?.id] },
    })
    await waitUntil('the sync to find where it is', async () => {
      const { rows } = await sql`
        select from message where account_id = ${account.accountId} and missing_look is not null
      `.execute(sending.app.db)
      return rows.length === 0
    })
    expect(await readMessages(sending.app, account.accountId)).toMatchObject([{ id, subject: 'Again' }])
  })
})
