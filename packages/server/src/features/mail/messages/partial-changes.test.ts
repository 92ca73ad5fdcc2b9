import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { callerOf } from '../../../../test/caller.ts'
import { sampleAccount, sampleMailbox, sampleMessageIn } from '../../../../test/sample-rows.ts'
import { useTestDoors } from '../../../../test/use-doors.ts'
import type { Connections } from '../../../connections/connections.ts'
import type { ChangedBatch, ChangingProvider, MovedBatch, RemovedBatch } from '../../../providers/changing.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { threadChangeOperations } from '../threads/change-operations.ts'
import { messageChangeOperations } from './change-operations.ts'

const { openDoor } = useTestDoors()

/** The batches that a provider carries out, until it fails. */
interface Played {
  flags?: Array<ChangedBatch | ProviderFailure>
  move?: Array<MovedBatch | ProviderFailure>
  remove?: Array<RemovedBatch | ProviderFailure>
}

const THREAD = 'thread'
const NO_CURSOR_NEEDED = { isValidUnder: () => true, firstCursor: null }

/** A thread of two messages, which have the numbers 1 and 2 in Inbox, and a provider that plays its part. */
async function openThread(played: Played) {
  const connections: Pick<Connections, 'use'> = {
    use: (_, __, work) => work(playing(played) as never),
  }
  // Changes use nothing else.
  const used = { connections: connections as Connections }
  const operations = { messages: messageChangeOperations(used), threads: threadChangeOperations(used) }
  const door = await openDoor({ operations })
  const { db, tenantId } = door
  const account = await sampleAccount(db, tenantId)
  const inbox = await sampleMailbox(db, account, { name: 'Inbox', role: 'inbox' })
  const other = await sampleMailbox(db, account, { name: 'Other' })
  const ids: string[] = []
  for (const [nth, subject] of ['first', 'second'].entries()) {
    const receivedAt = new Date(Date.UTC(2026, 0, nth + 1))
    const id = await sampleMessageIn(db, account, inbox.id, { subject, threadId: THREAD, receivedAt })
    await sql`update message_mailbox set uid = ${nth + 1} where message_id = ${id}`.execute(db)
    ids.push(id)
  }
  const caller = callerOf(door.address, await door.createKey())
  const path = `/v1/accounts/${account.id}`
  return {
    door,
    caller,
    other,
    ids,
    message: `${path}/messages/${ids[0]}`,
    thread: `${path}/threads/${THREAD}`,
    /** What is recorded and announced, and the numbers that the sync leaves alone. */
    async read() {
      const messages = await sql<{ line: string }>`
        select subject || ' in ' || name || case when is_read then ', read' else '' end as line
        from message join mailbox on mailbox.id = any(mailbox_ids)
        where message.account_id = ${account.id} order by subject`.execute(db)
      const events = await sql<{ type: string; data: { message: MessageSummary; changes?: string[] } }>`
        select type, data from event where account_id = ${account.id} order by id`.execute(db)
      const keys = await sql<{ uid: string }>`
        select uid from changed_key where account_id = ${account.id} and source = 'Inbox' order by uid`.execute(
        db,
      )
      return {
        messages: messages.rows.map(({ line }) => line),
        events: events.rows.map(({ type, data }) =>
          [type, data.message.subject, ...(data.changes ?? [])].join(' '),
        ),
        keys: keys.rows.map(({ uid }) => Number(uid)),
        isWoken: door.woken.includes(account.id),
      }
    },
    [Symbol.asyncDispose]: door[Symbol.asyncDispose],
  }
}

function playing({ flags = [], move = [], remove = [] }: Played): Partial<ChangingProvider> {
  return { changeFlags: () => play(flags), move: () => play(move), remove: () => play(remove) }
}

async function* play<Batch>(batches: ReadonlyArray<Batch | ProviderFailure>) {
  for (const batch of batches) {
    if (batch instanceof ProviderFailure) throw batch
    yield batch
  }
}

const marked = (...keys: number[]): ChangedBatch => {
  const flags = { isRead: true, isFlagged: false, isDraft: false, categories: [] }
  const changed = keys.map(key => ({ key, flags, mailboxKeys: null, revision: null }))
  return { changed, gone: [] }
}
const moved = (...keys: number[]): MovedBatch => {
  const location = (key: number) => ({ source: 'Other', key: key + 10, ...NO_CURSOR_NEEDED })
  return {
    moved: keys.map(key => ({ key, location: location(key), mailboxKeys: ['Other'] })),
    gone: [],
  }
}
const rejected = new ProviderFailure('rejected', 'Full', { isBeforeAcceptance: true })
const broken = new ProviderFailure('unavailable', 'The connection broke.')

describe('a change of which the provider carries out a part', () => {
  test('is recorded up to a failure of the next', async () => {
    await using of = await openThread({ flags: [marked(1)], move: [rejected] })
    const answer = await of.caller.patch(of.message, { isRead: true, mailboxId: of.other.id })
    expect(answer).toMatchObject({ status: 400, body: { code: 'provider_rejected' } })
    expect(await of.read()).toEqual({
      messages: ['first in Inbox, read', 'second in Inbox'],
      events: ['message.updated first isRead'],
      keys: [1],
      isWoken: false,
    })
  })

  test('is recorded up to a message that is gone, and the sync is woken', async () => {
    await using of = await openThread({ flags: [marked(1)], move: [{ moved: [], gone: [1] }] })
    const answer = await of.caller.patch(of.message, { isRead: true, mailboxId: of.other.id })
    expect(answer).toMatchObject({ status: 404, body: { code: 'provider_not_found' } })
    expect(await of.read()).toEqual({
      messages: ['first in Inbox, read', 'second in Inbox'],
      events: ['message.updated first isRead'],
      keys: [1],
      isWoken: true,
    })
  })

  test('is recorded batch by batch, and the sync looks for the messages that a failure has left', async () => {
    await using of = await openThread({ flags: [marked(1), broken] })
    const answer = await of.caller.patch(of.thread, { isRead: true })
    expect(answer).toMatchObject({ status: 502, body: { code: 'provider_unavailable' } })
    expect(await of.read()).toEqual({
      messages: ['first in Inbox, read', 'second in Inbox'],
      events: ['message.updated first isRead'],
      keys: [1],
      isWoken: true,
    })
  })

  test('is recorded if another message of the thread is being looked for', async () => {
    await using of = await openThread({ flags: [marked(1)] })
    await sql`update message_mailbox set uid = null where message_id = ${of.ids[1]}`.execute(of.door.db)
    const answer = await of.caller.patch<{ message: string }>(of.thread, { isRead: true })
    expect(answer).toMatchObject({ status: 502, body: { code: 'provider_unavailable' } })
    expect(answer.body.message).toMatch(/^1 of the messages/)
    expect(await of.read()).toEqual({
      messages: ['first in Inbox, read', 'second in Inbox'],
      events: ['message.updated first isRead'],
      keys: [1],
      isWoken: true,
    })
  })
})

test('all that a provider carries out is recorded in its order', async () => {
  await using of = await openThread({ flags: [marked(1), marked(2)], move: [moved(1), moved(2)] })
  const { status, body } = await of.caller.patch<{ mailboxIds: string[]; unreadCount: number }>(of.thread, {
    isRead: true,
    mailboxId: of.other.id,
  })
  expect({ status, body }).toMatchObject({ status: 200, body: { mailboxIds: [of.other.id], unreadCount: 0 } })
  expect(await of.read()).toEqual({
    messages: ['first in Other, read', 'second in Other, read'],
    events: [
      'message.updated first isRead',
      'message.updated second isRead',
      'message.updated first mailboxIds',
      'message.updated second mailboxIds',
    ],
    keys: [1, 2],
    isWoken: false,
  })
})

test('a message that its provider removed for good is deleted with the answer', async () => {
  await using of = await openThread({ remove: [{ removed: [1], gone: [] }] })
  expect((await of.caller.delete(`${of.message}?permanent=true`)).status).toBe(200)
  expect(await of.read()).toEqual({
    messages: ['second in Inbox'],
    events: ['message.deleted first'],
    keys: [1],
    isWoken: false,
  })
})
