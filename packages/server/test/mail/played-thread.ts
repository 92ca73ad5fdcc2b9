import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import { sql } from 'kysely'
import type { Connections } from '../../src/connections/connections.ts'
import type { Database } from '../../src/database/pool.ts'
import { messageChangeOperations } from '../../src/features/mail/messages/change-operations.ts'
import { threadChangeOperations } from '../../src/features/mail/threads/change-operations.ts'
import type {
  ChangedBatch,
  ChangingProvider,
  MovedBatch,
  RemovedBatch,
} from '../../src/providers/changing.ts'
import { ProviderFailure } from '../../src/providers/failure.ts'
import { callerOf } from '../caller.ts'
import { openTestDoor } from '../open-door.ts'
import { sampleAccount, sampleMailbox, sampleMessageIn } from '../sample-rows.ts'

/** A batch that a provider carries out, a failure that ends it, or something that happens meanwhile. */
export type Act<Batch> = Batch | ProviderFailure | (() => unknown)

/** The batches that a provider carries out, until it fails. */
export interface Played {
  flags?: Array<Act<ChangedBatch>>
  move?: Array<Act<MovedBatch>>
  remove?: Array<Act<RemovedBatch>>
}

const THREAD = 'thread'
const NO_CURSOR_NEEDED = { isValidUnder: () => true, firstCursor: null }

export type PlayedThread = Awaited<ReturnType<typeof openPlayedThread>>

/** A thread of two messages, which have the numbers 1 and 2 in Inbox, and a provider that plays its part. */
export async function openPlayedThread(database: Database, played: Played) {
  const connections: Pick<Connections, 'use'> = {
    use: (_, __, work) => work(playing(played) as never),
  }
  // Changes use nothing else.
  const used = { connections: connections as Connections }
  const operations = { messages: messageChangeOperations(used), threads: threadChangeOperations(used) }
  const door = await openTestDoor({ operations, database })
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
    /** Messages and events as they are recorded, and the numbers that the sync leaves alone. */
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

async function* play<Batch extends object>(acts: ReadonlyArray<Act<Batch>>) {
  for (const act of acts) {
    if (act instanceof ProviderFailure) throw act
    if (typeof act === 'function') await act()
    else yield act
  }
}

export const marked = (...keys: number[]): ChangedBatch => {
  const flags = { isRead: true, isFlagged: false, isDraft: false, categories: [] }
  const changed = keys.map(key => ({ key, flags, mailboxKeys: null, revision: null }))
  return { changed, gone: [] }
}
export const moved = (...keys: number[]): MovedBatch => {
  const location = (key: number) => ({ source: 'Other', key: key + 10, ...NO_CURSOR_NEEDED })
  return {
    moved: keys.map(key => ({ key, location: location(key), mailboxKeys: ['Other'] })),
    gone: [],
  }
}

export const removed = (...keys: number[]): RemovedBatch => ({ removed: keys, gone: [] })
