import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { ownAccount, passUntilCaughtUp } from '../../../../test/memory-account.ts'
import { type LoggedMessage, LogServer, logMail } from '../../../../test/memory-log.ts'
import { remoteMessage } from '../../../../test/memory-mail.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import type { Connections } from '../../../connections/connections.ts'
import { newId } from '../../../kit/ids.ts'
import type { DraftMark } from '../../../providers/draft-mark.ts'
import type { ChangingProvider, SettledDraft } from '../../../providers/changing.ts'
import type { MailProvider, MessageKey, RemoteMessage, SourceStep } from '../../../providers/mail.ts'
import { settleDraftHandler } from './settle-draft-job.ts'

/* Drafts of a provider with lasting ids and without names for drafts, where new content is another message. */

interface DraftTraits {
  internetMessageId: string
  draftMark?: DraftMark
  isDraft?: boolean
  isIncomplete?: true
}

/** An account with one message, in whose folder for drafts this and other clients write. */
async function openDrafts() {
  await using opened = new AsyncDisposableStack()
  const { db } = opened.use(await openTestDatabase())
  const server = new LogServer('folders')
  const inbox = server.create('Inbox', 'inbox')
  const drafts = server.create('Drafts', 'drafts')
  const sent = server.create('Sent', 'sent')
  const trash = server.create('Trash', 'trash')
  server.deliver([inbox.key], 'hello', new Date(1.7e12))
  const traits = new Map<string, DraftTraits>()
  const owned = await ownAccount(db)
  const sync = () => passUntilCaughtUp(db, owned, { connect: () => withTraits(logMail(server).mail, traits) })
  await sync()
  const resources = opened.move()
  const accountId = owned.id
  const write = (content: string, of: DraftTraits): LoggedMessage => {
    const message = server.deliver([drafts.key], content, new Date(1.7e12 + traits.size * 1_000))
    message.isDraft = true
    traits.set(message.id, of)
    return message
  }
  return {
    db,
    server,
    drafts,
    sent,
    trash,
    traits,
    accountId,
    sync,
    write,
    locationOf: ({ id: key }: LoggedMessage) => ({
      source: drafts.key,
      key,
      isValidUnder: () => true,
      firstCursor: null,
    }),
    /** A draft as the provider has it. */
    read: (message: LoggedMessage) =>
      remoteMessage({ ...message, key: message.id, mailboxKeys: [...message.mailboxes] }),
    async index() {
      const { rows } = await sql<{ id: string; subject: string; version: number }>`
        select id, subject, content_version as version from message where account_id = ${accountId} and subject <> 'hello'
        order by id
      `.execute(db)
      return rows
    },
    async events() {
      const { rows } = await sql<{ type: string }>`
        select type from event where account_id = ${accountId} and type like 'message.%' order by id
      `.execute(db)
      return rows.map(({ type }) => type)
    },
    async jobs() {
      const { rows } = await sql<{ id: string }>`
        select id::text from job where kind = 'settle_draft'
      `.execute(db)
      return rows.length
    },
    /** Runs the first of the jobs that settle drafts, with an answer of the provider. */
    async settle(answer: () => SettledDraft, readDraft?: (key: MessageKey) => RemoteMessage | null) {
      const { rows } = await sql<{ payload: unknown; tenantId: string }>`
        select payload, tenant_id as "tenantId" from job where kind = 'settle_draft' order by id limit 1
      `.execute(db)
      const [{ payload, tenantId }] = rows as [(typeof rows)[0]]
      const changing = {
        settleDraft: async () => answer(),
        ...(readDraft && { readDraft: async (key: MessageKey) => readDraft(key) }),
      } as Partial<ChangingProvider> as ChangingProvider
      const connections = {
        use: (_account: unknown, _capability: unknown, work: (provider: ChangingProvider) => unknown) =>
          work(changing),
      } as unknown as Connections
      await settleDraftHandler({ db, connections }).run(payload, {
        tenantId,
        signal: new AbortController().signal,
      })
    },
    async hold(id: string, seconds: number) {
      await sql`
        insert into draft_change (message_id, generation, held_until)
        values (${id}, 2, clock_timestamp() + make_interval(secs => ${seconds}))
        on conflict (message_id) do update set held_until = excluded.held_until
      `.execute(db)
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

function withTraits(mail: MailProvider, traits: ReadonlyMap<string, DraftTraits>): MailProvider {
  const told = (message: RemoteMessage): RemoteMessage => ({ ...message, ...traits.get(String(message.key)) })
  const steps = async function* (given: AsyncIterable<SourceStep>): AsyncGenerator<SourceStep> {
    for await (const step of given) {
      if (step.type !== 'page') yield step
      else
        yield {
          ...step,
          steps: step.steps.map(one =>
            one.type === 'arrived' ? { ...one, messages: one.messages.map(told) } : one,
          ),
        }
    }
  }
  return {
    ...mail,
    compare: (source, options) => steps(mail.compare(source, options)),
    arrivals: (source, options) => steps(mail.arrivals(source, options)),
  }
}

const ours = (generation: number): DraftTraits => ({
  internetMessageId: '<d1@example.com>',
  draftMark: { draftId: 'd1', generation },
})

describe('a draft whose content becomes another message', () => {
  test('keeps its id, and gets one message.updated', async () => {
    await using of = await openDrafts()
    const first = of.write('first', ours(1))
    await of.sync()
    const [before] = await of.index()
    of.write('second', ours(2))
    of.server.delete(first)
    await of.sync()
    expect(await of.index()).toEqual([{ id: before!.id, subject: 'second', version: before!.version + 1 }])
    expect((await of.events()).slice(-2)).toEqual(['message.created', 'message.updated'])
  })

  test('is not taken back by an earlier content that is still there, which is removed later', async () => {
    await using of = await openDrafts()
    of.write('second', ours(2))
    await of.sync()
    const before = await of.index()
    of.write('first', ours(1))
    await of.sync()
    expect(await of.index()).toEqual(before)
    expect(await of.jobs()).toBe(1)
  })

  test('leaves copies of other clients alone', async () => {
    await using of = await openDrafts()
    of.write('draft', ours(1))
    await of.sync()
    of.write('copy', ours(1))
    await of.sync()
    expect((await of.index()).map(({ subject }) => subject)).toEqual(['draft', 'copy'])
  })

  test('is not taken over by the message that another client made of it and sent', async () => {
    await using of = await openDrafts()
    of.write('draft', ours(1))
    await of.sync()
    const message = of.server.deliver([of.sent.key], 'sent', new Date(1.7e12))
    of.traits.set(message.id, ours(2))
    await of.sync()
    expect((await of.index()).map(({ subject }) => subject)).toEqual(['draft', 'sent'])
  })

  test('waits while it is being changed, although its former content is gone', async () => {
    await using of = await openDrafts()
    const first = of.write('first', ours(1))
    await of.sync()
    const [before] = await of.index()
    await of.hold(before!.id, 60)
    of.server.delete(first)
    await of.sync()
    expect(await of.index()).toEqual([before])
    of.write('second', ours(2))
    await of.sync()
    expect(await of.index()).toEqual([{ id: before!.id, subject: 'second', version: before!.version + 1 }])
  })

  test('keeps its former content until the change has ended, and has it again if that failed', async () => {
    await using of = await openDrafts()
    const first = of.write('first', ours(1))
    await of.sync()
    const [before] = await of.index()
    await of.hold(before!.id, 60)
    const second = of.write('second', ours(2))
    await of.sync()
    const unexpected = (): never => {
      throw new Error('The provider was asked')
    }
    await expect(of.settle(unexpected)).rejects.toThrow('The draft is being changed')
    // Its files could not be attached.
    of.server.delete(second)
    await of.hold(before!.id, 0)
    await of.sync()
    expect(await of.index()).toEqual([])
    const location = of.locationOf(first)
    await of.settle(() => ({ kept: { location, generation: 1 }, removed: [] }))
    await of.sync()
    await sql`update quarantined_message set next_attempt_at = clock_timestamp()`.execute(of.db)
    await of.sync()
    expect((await of.index()).map(({ subject }) => subject)).toEqual(['first'])
  })

  test('keeps its id if the provider does not find it just after it was written', async () => {
    await using of = await openDrafts()
    const first = of.write('first', ours(1))
    first.receivedAt = new Date()
    await of.sync()
    const before = await of.index()
    of.server.delete(first)
    await of.sync()
    expect(await of.index()).toEqual(before)
    of.server.messages.set(first.id, first)
    of.server.touch(first)
    await of.sync()
    expect(await of.index()).toEqual(before)
    expect(await of.events()).toEqual(['message.created'])
    of.server.delete(first)
    await sql`
      update message set received_at = received_at - interval '2 minutes' where id = ${before[0]!.id}
    `.execute(of.db)
    await of.sync()
    expect(await of.index()).toEqual([])
  })

  test('keeps its id if it was moved after its content was replaced, or before that was seen', async () => {
    await using of = await openDrafts()
    const first = of.write('first', ours(1))
    await of.sync()
    const [before] = await of.index()
    await of.hold(before!.id, 60)
    of.server.place(first, [of.trash.key])
    await of.sync()
    const second = of.write('second', ours(2))
    await of.sync()
    const after = { id: before!.id, subject: 'second', version: before!.version + 1 }
    expect(await of.index()).toEqual([after])
    of.server.place(second, [of.trash.key])
    await of.sync()
    of.server.place(first, [of.drafts.key])
    await of.sync()
    expect(await of.index()).toEqual([after])
    expect(await of.jobs()).toBe(1)
  })

  test('shares its index with former contents that stay when it is settled', async () => {
    await using of = await openDrafts()
    const first = of.write('first', ours(1))
    await of.sync()
    const [before] = await of.index()
    of.write('second', ours(2))
    await of.sync()
    const left = of.locationOf(first)
    await of.settle(
      () => ({ kept: null, removed: [], left: [left] }),
      () => of.read(first),
    )
    await of.sync()
    of.server.touch(first)
    await of.sync()
    expect(await of.index()).toMatchObject([{ id: before!.id, subject: 'second' }, { subject: 'first' }])
  })

  test('has its former content again if the new one goes', async () => {
    await using of = await openDrafts()
    const first = of.write('first', ours(1))
    await of.sync()
    const [before] = await of.index()
    const second = of.write('second', ours(2))
    second.receivedAt = new Date()
    await of.sync()
    of.server.delete(second)
    await of.sync()
    const location = of.locationOf(first)
    await of.settle(
      () => ({ kept: { location, generation: 1 }, removed: [] }),
      key => (key === first.id ? of.read(first) : null),
    )
    await of.sync()
    expect(await of.index()).toMatchObject([{ id: before!.id, subject: 'first' }])
    expect((await of.events()).filter(type => type === 'message.created')).toHaveLength(1)
  })

  test('is not replaced by content that lacks files, and replaces such content', async () => {
    await using of = await openDrafts()
    const first = of.write('first', { ...ours(1), isIncomplete: true })
    await of.sync()
    const [before] = await of.index()
    of.write('complete', ours(1))
    of.server.delete(first)
    await of.sync()
    expect(await of.index()).toMatchObject([{ id: before!.id, subject: 'complete' }])
    const second = of.write('second', { ...ours(2), isIncomplete: true })
    await of.sync()
    expect(await of.index()).toMatchObject([{ id: before!.id, subject: 'complete' }])
    expect(await of.jobs()).toBe(2)
    of.traits.set(second.id, ours(2))
    of.server.touch(second)
    await of.sync()
    expect(await of.index()).toMatchObject([{ id: before!.id, subject: 'second' }])
  })

  test('is deleted once nobody changes it any more', async () => {
    await using of = await openDrafts()
    const first = of.write('first', ours(1))
    await of.sync()
    const [before] = await of.index()
    await of.hold(before!.id, 0)
    of.server.delete(first)
    await of.sync()
    expect(await of.index()).toEqual([])
    expect((await of.events()).at(-1)).toBe('message.deleted')
  })

  test('has another ETag after another client changed it in place', async () => {
    await using of = await openDrafts()
    const message = of.write('first', ours(1))
    await of.sync()
    const [before] = await of.index()
    message.content = 'changed'
    of.server.touch(message)
    await of.sync()
    expect(await of.index()).toEqual([{ id: before!.id, subject: 'changed', version: before!.version + 1 }])
    message.isRead = !message.isRead
    of.server.touch(message)
    await of.sync()
    expect((await of.index())[0]!.version).toBe(before!.version + 1)
  })
})

describe('the draft of a send', () => {
  const own = { internetMessageId: '<send@example.com>' }
  const queue = (of: Awaited<ReturnType<typeof openDrafts>>) =>
    sql`
      insert into sent_message (account_id, internet_message_id, outbox_id)
      values (${of.accountId}, ${own.internetMessageId}, ${newId()})
    `.execute(of.db)

  test('never shows, and is an arrival once it is sent', async () => {
    await using of = await openDrafts()
    await queue(of)
    const events = await of.events()
    const message = of.write('letter', own)
    await of.sync()
    of.server.touch(message)
    await of.sync()
    expect(await of.index()).toEqual([])
    expect(await of.events()).toEqual(events)
    message.isDraft = false
    of.server.place(message, [of.sent.key])
    await of.sync()
    expect((await of.index()).map(({ subject }) => subject)).toEqual(['letter'])
    const { rows } = await sql<{ is_linked: boolean; is_draft: boolean }>`
      select outbox_id is not null as is_linked, is_draft from message where subject = 'letter'
    `.execute(of.db)
    expect(rows).toEqual([{ is_linked: true, is_draft: false }])
    expect(await of.events()).toEqual([...events, 'message.created'])
  })

  test('does not hide drafts of other Message-IDs, nor sent mail', async () => {
    await using of = await openDrafts()
    await queue(of)
    of.write('other', { internetMessageId: '<other@example.com>' })
    const copy = of.server.deliver([of.sent.key], 'copy', new Date(1.7e12))
    of.traits.set(copy.id, own)
    await of.sync()
    expect((await of.index()).map(({ subject }) => subject).toSorted()).toEqual(['copy', 'other'])
  })
})
