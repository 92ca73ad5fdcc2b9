import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { describe, expect, test } from 'vitest'
import { findDoubleCopies } from '../../src/features/sending/outbox/double-copies.ts'
import type { TestApp, TestAppOptions } from '../open-app.ts'
import { openWorld, type World } from '../servers/world.ts'
import { readMailboxes, waitForFirstSync, QUICK_PACE } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import {
  connectSender,
  openSendingApp,
  readEntry,
  send,
  waitForEntry,
  waitForStatus,
} from './open-sending.ts'

/** The whole service, with an account that files its sent copies. */
async function openFiling({ appendSent = true, ...app }: { appendSent?: boolean } & TestAppOptions = {}) {
  await using opened = new AsyncDisposableStack()
  const sending = opened.use(
    await openSendingApp({ app: { roles: ['api', 'jobs', 'sync'], pace: QUICK_PACE, ...app } }),
  )
  const { app: service, imap } = sending
  const user = await imap.addUser()
  const world = opened.use(await openWorld(imap, user))
  const accountId = await connectSender(service, sending, { user, appendSent })
  await waitForFirstSync(service, accountId)
  const owned = opened.move()
  return { ...sending, user, world, accountId, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

const waitForCopy = (app: TestApp, entry: OutboxEntry) =>
  waitForEntry(app, entry, 'the copy', ({ messageId }) => messageId !== null)

/** Waits until nothing is left to do for the only send. */
const waitForTask = (app: TestApp) =>
  waitUntil('the end of the task', async () => {
    const { task } = await app.db.selectFrom('outbox').select('task').executeTakeFirstOrThrow()
    return task === null
  })

async function readSummary(app: TestApp, accountId: string, id: string | null): Promise<MessageSummary> {
  return (await app.get<MessageSummary>(`/v1/accounts/${accountId}/messages/${id}`)).body
}

async function readRaw(app: TestApp, accountId: string, id: string | null): Promise<string> {
  return (await app.get<string>(`/v1/accounts/${accountId}/messages/${id}/raw`)).body
}

/** Flags of the messages of a mailbox, as the server has them. */
async function flagsOf(world: World, mailbox: string): Promise<string> {
  await world.witness.command(`SELECT ${mailbox}`)
  const { untagged } = await world.witness.command('UID FETCH 1:* (FLAGS)')
  await world.witness.command('UNSELECT')
  return JSON.stringify(untagged)
}

interface Feed {
  items: Array<{ type: string; data: { message: MessageSummary } }>
}

async function createdEvents(app: TestApp, outboxId: string) {
  const { body } = await app.get<Feed>('/v1/changes?limit=200&types=message.created,message.updated')
  return body.items.filter(({ data }) => data.message.outboxId === outboxId)
}

describe('the sent copy', () => {
  test('is filed once, read, with Bcc, and announced once as a copy of the send', async () => {
    await using opened = await openFiling()
    const { app, sink, world, accountId } = opened
    const entry = await send(app, accountId, {
      bcc: [{ address: 'hidden@example.org' }],
      reference: 'ticket-7',
    })
    const done = await waitForCopy(app, entry)
    expect(done.status).toBe('sent')
    const copy = await readSummary(app, accountId, done.messageId)
    expect(copy).toMatchObject({
      outboxId: entry.id,
      reference: 'ticket-7',
      direction: 'outbound',
      isRead: true,
      threadId: done.threadId,
      internetMessageId: entry.internetMessageId,
    })
    const raw = await readRaw(app, accountId, done.messageId)
    expect(raw).toMatch(/^Bcc: hidden@example\.org\r$/m)
    const [accepted] = await sink.accepted()
    expect(raw.replace(/^Bcc:.*\r\n/m, '')).toBe(accepted!.content)
    const mailboxes = await readMailboxes(app, accountId)
    const sent = mailboxes.find(({ role }) => role === 'sent')!
    expect(copy.mailboxIds).toEqual([sent.id])
    expect(await world.uids(sent.path)).toHaveLength(1)
    expect((await createdEvents(app, entry.id)).map(({ type }) => type)).toEqual(['message.created'])
  })

  test('is not filed where the server files one by itself, also late', async () => {
    let searches = 0
    const filed = Promise.withResolvers<void>()
    await using opened = await openFiling({
      // The second search is the last one before the service files a copy.
      reachPoint: async point => {
        if (point === 'copy_search' && ++searches === 2) await filed.promise
      },
    })
    const { app, sink, world, accountId } = opened
    const entry = await send(app, accountId)
    await waitForStatus(app, entry, 'sent')
    await waitUntil('the second search', async () => searches === 2)
    const [accepted] = await sink.accepted()
    await world.deliver({ raw: accepted!.content, flags: [String.raw`\Seen`] }, 'Sent')
    filed.resolve()
    await waitForCopy(app, entry)
    await waitForTask(app)
    expect(await world.uids('Sent')).toHaveLength(1)
    const held = await app.db.selectFrom('sending_account').select('files_copies').executeTakeFirstOrThrow()
    expect(held.files_copies).toBe(true)
  })

  /**
   * Sends a message, whose copy the service files, and then the server files another one.
   * @param mark marks the first copy before there is a second one, which may be removed at any time
   */
  async function sendTwiceFiled(
    opened: Awaited<ReturnType<typeof openFiling>>,
    mark: (ours: number) => Promise<void> = async () => {},
  ) {
    const { app, sink, world, accountId } = opened
    const entry = await send(app, accountId)
    const done = await waitForCopy(app, entry)
    // The sync may be faster than the task, which notes which copy is ours.
    await waitForTask(app)
    const [ours] = await world.uids('Sent')
    await mark(ours!)
    const [accepted] = await sink.accepted()
    const [theirs] = await world.deliver({ raw: accepted!.content, flags: [String.raw`\Seen`] }, 'Sent')
    await waitUntil('the second copy', async () => {
      const events = await createdEvents(app, entry.id)
      return events.filter(({ type }) => type === 'message.created').length === 2
    })
    return { entry, done, ours: ours!, theirs: theirs! }
  }

  const settle = async ({ app }: { app: TestApp }) => {
    await findDoubleCopies(app.db, new AbortController().signal)
    await waitUntil('the end of the job', async () => {
      const jobs = await app.db
        .selectFrom('job')
        .select('id')
        .where('kind', '=', 'settle_sent_copies')
        .execute()
      return jobs.length === 0
    })
  }

  /** A search alone may still report what was removed over another connection. */
  const uidsNow = async (world: World) => {
    await world.witness.command('NOOP')
    return world.uids('Sent')
  }

  test('gives way to one that the server files by itself later', async () => {
    await using opened = await openFiling()
    const { app, world, accountId } = opened
    const { entry, done, theirs } = await sendTwiceFiled(opened)
    await settle(opened)
    expect(await uidsNow(world)).toEqual([theirs])
    const now = await readEntry(app, entry)
    expect(now.messageId).not.toBe(null)
    expect(now.messageId).not.toBe(done.messageId)
    const { items } = (await app.get<Feed>('/v1/changes?limit=200&types=message.created,message.deleted'))
      .body
    expect(items.map(({ type }) => type)).toEqual(['message.created', 'message.created', 'message.deleted'])
    expect(await readSummary(app, accountId, now.messageId)).toMatchObject({ outboxId: entry.id })
    const held = await app.db.selectFrom('sending_account').select('files_copies').executeTakeFirstOrThrow()
    expect(held.files_copies).toBe(true)
    await settle(opened)
    expect(await uidsNow(world)).toEqual([theirs])
  })

  test('stays beside a later one if somebody has marked it', async () => {
    await using opened = await openFiling()
    const { world } = opened
    const { ours, theirs } = await sendTwiceFiled(opened, uid =>
      world.flag('Sent', [uid], String.raw`\Flagged`),
    )
    await settle(opened)
    expect(await uidsNow(world)).toEqual([ours, theirs])
  })

  test('is not filed where the account does not want one', async () => {
    await using opened = await openFiling({ appendSent: false })
    const { app, world, accountId } = opened
    const entry = await send(app, accountId)
    await waitForStatus(app, entry, 'sent')
    const { task } = await app.db.selectFrom('outbox').select('task').executeTakeFirstOrThrow()
    expect(task).toBe(null)
    expect(await world.uids('Sent').catch(() => [])).toEqual([])
  })
})

describe('a message that refers to another one', () => {
  const ORIGINAL =
    'From: Grace <grace@example.org>\r\nTo: ada@example.com\r\nSubject: Figures\r\n' +
    'Message-ID: <figures@example.org>\r\nReferences: <first@example.org>\r\nMIME-Version: 1.0\r\n' +
    'Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/plain\r\n\r\nSee below.\r\n' +
    '--b\r\nContent-Type: application/pdf; name=figures.pdf\r\nContent-Disposition: attachment; filename=figures.pdf\r\n' +
    'Content-Transfer-Encoding: base64\r\n\r\nJVBERg==\r\n--b--\r\n'

  async function openWithOriginal() {
    const opened = await openFiling()
    const { app, world, accountId } = opened
    await world.deliver({ raw: ORIGINAL })
    const original = await waitUntil('the original', async () => {
      const { body } = await app.get<{ items: MessageSummary[] }>(`/v1/accounts/${accountId}/messages`)
      return body.items.find(({ subject }) => subject === 'Figures')
    })
    return { ...opened, original, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() }
  }

  test('replies in its thread, and marks it as answered', async () => {
    await using opened = await openWithOriginal()
    const { app, sink, world, accountId, original } = opened
    const entry = await send(app, accountId, { inReplyTo: original.id, subject: undefined })
    expect(entry).toMatchObject({
      subject: 'Re: Figures',
      inReplyTo: original.id,
      threadId: original.threadId,
    })
    const done = await waitForCopy(app, entry)
    expect(done.threadId).toBe(original.threadId)
    const [accepted] = await sink.accepted()
    expect(accepted!.content).toMatch(/^In-Reply-To: <figures@example\.org>\r$/m)
    expect(accepted!.content).toMatch(/^References: <first@example\.org>\s+<figures@example\.org>\r$/m)
    await waitUntil('the mark', async () => (await flagsOf(world, 'INBOX')).includes('Answered'))
  })

  test('forwards its attachments, and marks it as forwarded', async () => {
    await using opened = await openWithOriginal()
    const { app, sink, world, accountId, original } = opened
    const entry = await send(app, accountId, { forwardOf: original.id, subject: undefined })
    expect(entry).toMatchObject({ subject: 'Fwd: Figures', hasAttachments: true, inReplyTo: null })
    await waitForCopy(app, entry)
    const [accepted] = await sink.accepted()
    expect(accepted!.content).toContain('figures.pdf')
    expect(accepted!.content).toContain('JVBERg==')
    await waitUntil('the mark', async () => (await flagsOf(world, 'INBOX')).includes('$Forwarded'))
  })

  test('attaches what it names by reference', async () => {
    await using opened = await openWithOriginal()
    const { app, sink, accountId, original } = opened
    const attachments = [{ messageId: original.id, attachmentId: '2', filename: 'renamed.pdf' }]
    const entry = await send(app, accountId, { attachments })
    await waitForStatus(app, entry, 'sent')
    const [accepted] = await sink.accepted()
    expect(accepted!.content).toContain('renamed.pdf')
    expect(accepted!.content).toContain('JVBERg==')
  })
})
