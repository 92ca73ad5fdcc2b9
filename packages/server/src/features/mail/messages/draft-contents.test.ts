import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { ownAccount, passUntilCaughtUp, readIndex } from '../../../../test/memory-account.ts'
import { type DraftTraits, openDrafts, ours, withTraits } from '../../../../test/memory-drafts.ts'
import { memoryMail, MemoryServer } from '../../../../test/memory-mail.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { newId } from '../../../kit/ids.ts'

/* Drafts of a provider with lasting ids and without names for drafts, where new content is another message. */

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

  test('takes its later content if its former one has changed as well by the same look', async () => {
    await using of = await openDrafts()
    const first = of.write('first', ours(1))
    await of.sync()
    const [before] = await of.index()
    first.content = 'changed by another client'
    of.server.touch(first)
    of.write('second', ours(2))
    await of.sync()
    expect(await of.index()).toEqual([{ id: before!.id, subject: 'second', version: before!.version + 1 }])
    expect(await of.jobs()).toBe(1)
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
    expect((await of.index()).map(({ subject }) => subject ?? '')).toEqual(['draft', 'copy'])
  })

  test('is not taken over by the message that another client made of it and sent', async () => {
    await using of = await openDrafts()
    of.write('draft', ours(1))
    await of.sync()
    const message = of.server.deliver([of.sent.key], 'sent', new Date(1.7e12))
    of.traits.set(message.id, ours(2))
    await of.sync()
    expect((await of.index()).map(({ subject }) => subject ?? '')).toEqual(['draft', 'sent'])
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
    expect((await of.index()).map(({ subject }) => subject ?? '')).toEqual(['first'])
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

test('a draft under a number keeps its id if another client saves it as well while its content is replaced', async () => {
  await using opened = await openTestDatabase()
  const { db } = opened
  const server = new MemoryServer()
  const traits = new Map<string, DraftTraits>()
  const owned = await ownAccount(db)
  const mail = () => withTraits(memoryMail(server).mail, traits, ({ subject }) => subject ?? '')
  const sync = () => passUntilCaughtUp(db, owned, { connect: mail })
  const write = (content: string, of: DraftTraits) => {
    traits.set(content, of)
    server.deliver('Drafts', content, new Date(1.7e12), { isDraft: true })
  }
  server.create('Drafts', 'drafts')
  write('first', ours(1))
  await sync()
  const [before] = await readIndex(db)
  const { messages } = server.get('Drafts')
  server.expunge('Drafts', messages[0]!)
  write('second', ours(2))
  write('theirs', { internetMessageId: '<d1@example.com>' })
  await sync()
  expect(await readIndex(db)).toMatchObject([{ id: before!.id, content: 'second' }, { content: 'theirs' }])
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
    expect((await of.index()).map(({ subject }) => subject ?? '')).toEqual(['letter'])
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
    expect((await of.index()).map(({ subject }) => subject ?? '').toSorted()).toEqual(['copy', 'other'])
  })
})
