import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { type LosingDatabase, openLosingDatabase } from '../../../../test/losing-database.ts'
import {
  type Act,
  marked,
  moved,
  openPlayedThread,
  type Played,
  type PlayedThread,
  removed,
} from '../../../../test/mail/played-thread.ts'
import { useTestDatabase } from '../../../../test/use-database.ts'
import type { MovedBatch } from '../../../providers/changing.ts'

const database = useTestDatabase()
const openThread = (played: Played) => openPlayedThread(database(), played)

/** Loses the connection while a commit is made. `behind` is sent only before that commit. */
type Loss = (losing: LosingDatabase, behind: string) => void

const LOSSES: Record<string, Loss> = {
  'is never made': (losing, behind) => losing.loseNextStatement(behind),
  'is made, but not answered': (losing, behind) => losing.loseNextCommit(behind),
}

/** A change of which the provider carries out the messages 1, 2 … one by one. */
interface Change {
  ask(of: PlayedThread): Promise<{ status: number }>
  of: keyof Played
  batches: ReadonlyArray<Act<never>>
  messages: string[]
  events: string[]
}

const CHANGES: Record<string, Change> = {
  flags: {
    ask: of => of.caller.patch(of.thread, { isRead: true }),
    of: 'flags',
    batches: [marked(1), marked(2)] as never[],
    messages: ['first in Inbox, read', 'second in Inbox, read'],
    events: ['message.updated first isRead', 'message.updated second isRead'],
  },
  moves: {
    ask: of => of.caller.patch(of.thread, { mailboxId: of.other.id }),
    of: 'move',
    batches: [moved(1), moved(2)] as never[],
    messages: ['first in Other', 'second in Other'],
    events: ['message.updated first mailboxIds', 'message.updated second mailboxIds'],
  },
  'moves to a location that the provider does not name': {
    ask: of => of.caller.patch(of.thread, { mailboxId: of.other.id }),
    of: 'move',
    batches: [unlocated(1), unlocated(2)] as never[],
    messages: ['first in Other', 'second in Other'],
    events: ['message.updated first mailboxIds', 'message.updated second mailboxIds'],
  },
  deletions: {
    ask: of => of.caller.delete(`${of.message}?permanent=true`),
    of: 'remove',
    batches: [removed(1)] as never[],
    messages: ['second in Inbox'],
    events: ['message.deleted first'],
  },
}

function unlocated(key: number): MovedBatch {
  const batch = moved(key)
  return { ...batch, moved: batch.moved.map(message => ({ ...message, location: null })) }
}

const CASES = Object.entries(CHANGES).flatMap(([kind, change]) =>
  Object.entries(LOSSES).flatMap(([loss, lose]) =>
    change.batches.map((_, nth) => ({ kind, change, loss, lose, nth: nth + 1 })),
  ),
)

describe('a change that the provider has carried out is recorded once', () => {
  test.each(CASES)('if the commit of $kind that $loss has message $nth', async ({ change, lose, nth }) => {
    await using losing = await openLosingDatabase(database())
    const batches = change.batches.toSpliced(nth, 0, () => lose(losing, `"uid":${nth}`))
    await using of = await openPlayedThread(losing.database, { [change.of]: batches })
    const { status } = await change.ask(of)
    expect(losing.lost()).toBe(1)
    expect(status).toBeGreaterThanOrEqual(500)
    const { messages, events, keys } = await of.read()
    expect({ messages, events }).toEqual({ messages: change.messages, events: change.events })
    expect(keys).toEqual([1, 2].slice(0, change.batches.length))
  })
})

describe('a refusal of the answer leaves what the provider carried out', () => {
  test('of a thread that is gone meanwhile', async () => {
    await using of = await openThread({
      flags: [
        marked(1, 2),
        () =>
          sql`update message set thread_id = 'other' where id = any(${of.ids}::uuid[])`.execute(
            database().db,
          ),
      ],
    })
    const answer = await of.caller.patch(of.thread, { isRead: true })
    expect(answer).toMatchObject({ status: 404, body: { code: 'thread_not_found' } })
    expect(await of.read()).toMatchObject({
      messages: ['first in Inbox, read', 'second in Inbox, read'],
      events: ['message.updated first isRead', 'message.updated second isRead'],
      keys: [1, 2],
    })
  })

  test('of a message that is gone meanwhile', async () => {
    await using of = await openThread({
      flags: [marked(1), () => sql`delete from message where id = ${of.ids[0]}`.execute(database().db)],
    })
    const answer = await of.caller.patch(of.message, { isRead: true })
    expect(answer).toMatchObject({ status: 404, body: { code: 'message_not_found' } })
    expect(await of.read()).toMatchObject({ messages: ['second in Inbox'], events: [], keys: [1] })
  })
})
