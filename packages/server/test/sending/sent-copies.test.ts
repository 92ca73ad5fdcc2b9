import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { findDoubleCopies } from '../../src/features/sending/outbox/double-copies.ts'
import { newId } from '../../src/kit/ids.ts'
import type { TestApp } from '../open-app.ts'
import { useServer } from '../servers/shared-server.ts'
import { openWorld, type World } from '../servers/world.ts'
import { readMailboxes, waitForFirstSync, QUICK_PACE } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { connectSender, openSendingApp, readEntry, send, waitForStatus } from './open-sending.ts'

/** Number of searches for the copy of each send. */
const searches = new Map<string, number>()
/** Sends whose second search, the last one before the service files a copy, waits for something. */
const waitsFor = new Map<string, Promise<void>>()

const running = useServer(() =>
  openSendingApp({
    app: {
      roles: ['api', 'jobs', 'sync'],
      pace: QUICK_PACE,
      async reachPoint(point, id) {
        if (point !== 'copy_search') return
        searches.set(id, (searches.get(id) ?? 0) + 1)
        if (searches.get(id) === 2) await waitsFor.get(id)
      },
    },
  }),
)

/** A tenant with an account that files its sent copies. */
async function openFiling({ appendSent = true } = {}) {
  const { app: service, imap, sink } = running()
  await using opened = new AsyncDisposableStack()
  const app: TestApp = { ...service, ...(await service.createTenant(newId())) }
  const user = await imap.addUser()
  const world = opened.use(await openWorld(imap, user))
  const accountId = await connectSender(app, { imap, sink }, { user, appendSent })
  await waitForFirstSync(app, accountId)
  const owned = opened.move()
  return { app, world, accountId, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** The message as the SMTP server has accepted it. */
async function readAccepted({ internetMessageId }: OutboxEntry): Promise<string> {
  const accepted = await running().sink.accepted()
  return accepted.find(({ messageId }) => messageId === internetMessageId)!.content
}

/** In place of waiting: a second search for a copy comes after seconds. */
async function hurry({ db }: TestApp, { id }: OutboxEntry): Promise<void> {
  await sql`
    update outbox set task_at = clock_timestamp()
    where id = ${id} and task is not null and task_by is null and task_at > clock_timestamp()`.execute(db)
}

const waitForCopy = (app: TestApp, entry: OutboxEntry) =>
  waitUntil('the copy', async () => {
    await hurry(app, entry)
    const now = await readEntry(app, entry)
    return now.messageId !== null && now
  })

const readTask = async ({ db }: TestApp, { id }: OutboxEntry) =>
  (await db.selectFrom('outbox').select('task').where('id', '=', id).executeTakeFirstOrThrow()).task

/** Waits until nothing is left to do for the send. */
const waitForTask = (app: TestApp, entry: OutboxEntry) =>
  waitUntil('the end of the task', async () => (await readTask(app, entry)) === null)

/** Whether the server of the account is known to file copies by itself. */
async function filesCopies({ db }: TestApp, accountId: string): Promise<boolean> {
  const { files_copies } = await db
    .selectFrom('sending_account')
    .select('files_copies')
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow()
  return files_copies
}

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

describe.concurrent('the sent copy', () => {
  test('is filed once, read, with Bcc, and announced once as a copy of the send', async () => {
    await using opened = await openFiling()
    const { app, world, accountId } = opened
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
    expect(raw.replace(/^Bcc:.*\r\n/m, '')).toBe(await readAccepted(entry))
    const mailboxes = await readMailboxes(app, accountId)
    const sent = mailboxes.find(({ role }) => role === 'sent')!
    expect(copy.mailboxIds).toEqual([sent.id])
    expect(await world.uids(sent.path)).toHaveLength(1)
    expect((await createdEvents(app, entry.id)).map(({ type }) => type)).toEqual(['message.created'])
  })

  test('is not filed where the server files one by itself, also late', async () => {
    const filed = Promise.withResolvers<void>()
    await using opened = await openFiling()
    const { app, world, accountId } = opened
    const entry = await send(app, accountId)
    waitsFor.set(entry.id, filed.promise)
    await waitUntil('the second search', async () => {
      await hurry(app, entry)
      return searches.get(entry.id) === 2
    })
    const raw = await readAccepted(entry)
    await world.deliver({ raw, flags: [String.raw`\Seen`] }, 'Sent')
    filed.resolve()
    await waitForCopy(app, entry)
    await waitForTask(app, entry)
    expect(await world.uids('Sent')).toHaveLength(1)
    expect(await filesCopies(app, accountId)).toBe(true)
  })

  /**
   * Sends a message, whose copy the service files, and then the server files another one.
   * @param mark marks the first copy before there is a second one, which may be removed at any time
   */
  async function sendTwiceFiled(
    opened: Awaited<ReturnType<typeof openFiling>>,
    mark: (ours: number) => Promise<void> = async () => {},
  ) {
    const { app, world, accountId } = opened
    const entry = await send(app, accountId)
    const done = await waitForCopy(app, entry)
    // The sync may be faster than the task, which notes which copy is ours.
    await waitForTask(app, entry)
    const [ours] = await world.uids('Sent')
    await mark(ours!)
    const raw = await readAccepted(entry)
    const [theirs] = await world.deliver({ raw, flags: [String.raw`\Seen`] }, 'Sent')
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
    expect(await filesCopies(app, accountId)).toBe(true)
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
    expect(await readTask(app, entry)).toBe(null)
    expect(await world.uids('Sent').catch(() => [])).toEqual([])
  })
})

describe.concurrent('a message that refers to another one', () => {
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
    const { app, world, accountId, original } = opened
    const entry = await send(app, accountId, { inReplyTo: original.id, subject: undefined })
    expect(entry).toMatchObject({
      subject: 'Re: Figures',
      inReplyTo: original.id,
      threadId: original.threadId,
    })
    const done = await waitForCopy(app, entry)
    expect(done.threadId).toBe(original.threadId)
    const accepted = await readAccepted(entry)
    expect(accepted).toMatch(/^In-Reply-To: <figures@example\.org>\r$/m)
    expect(accepted).toMatch(/^References: <first@example\.org>\s+<figures@example\.org>\r$/m)
    await waitUntil('the mark', async () => (await flagsOf(world, 'INBOX')).includes('Answered'))
  })

  test('forwards its attachments, and marks it as forwarded', async () => {
    await using opened = await openWithOriginal()
    const { app, world, accountId, original } = opened
    const entry = await send(app, accountId, { forwardOf: original.id, subject: undefined })
    expect(entry).toMatchObject({ subject: 'Fwd: Figures', hasAttachments: true, inReplyTo: null })
    await waitForCopy(app, entry)
    const accepted = await readAccepted(entry)
    expect(accepted).toContain('figures.pdf')
    expect(accepted).toContain('JVBERg==')
    await waitUntil('the mark', async () => (await flagsOf(world, 'INBOX')).includes('$Forwarded'))
  })

  test('attaches what it names by reference', async () => {
    await using opened = await openWithOriginal()
    const { app, accountId, original } = opened
    const attachments = [{ messageId: original.id, attachmentId: '2', filename: 'renamed.pdf' }]
    const entry = await send(app, accountId, { attachments })
    await waitForStatus(app, entry, 'sent')
    const accepted = await readAccepted(entry)
    expect(accepted).toContain('renamed.pdf')
    expect(accepted).toContain('JVBERg==')
  })
})
