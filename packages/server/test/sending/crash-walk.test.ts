import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { SendPoint } from '../../src/features/sending/outbox/points.ts'
import type { SinkStep } from '../servers/smtp-sink.ts'
import { type KillableSending, openKillableSending } from './killable-sending.ts'
import { GRACE, sendEvents } from './open-sending.ts'

interface Expected {
  status: 'sent' | 'failed'
  /** How often the server accepted the message. */
  accepted: number
}

let walk: KillableSending

beforeAll(async () => {
  walk = await openKillableSending()
})
afterAll(() => walk[Symbol.asyncDispose]())

const SENT: Expected = { status: 'sent', accepted: 1 }

/** What must have become of a message whose service was killed at the moment. */
const WALK: ReadonlyArray<readonly [SendPoint | SinkStep, Expected]> = [
  ['content_write', SENT],
  ['content_written', SENT],
  ['accept_commit', SENT],
  ['accepted', SENT],
  ['claimed', SENT],
  ['mail_from', SENT],
  ['rcpt', SENT],
  ['hand_over_commit', SENT],
  // It was noted that the message may be accepted, and nothing proves that it was not.
  ['hand_over_recorded', { status: 'failed', accepted: 0 }],
  ['dot', { status: 'failed', accepted: 1 }],
  ['answered', { status: 'failed', accepted: 1 }],
  ['outcome_commit', { status: 'failed', accepted: 1 }],
  ['outcome_recorded', SENT],
  ['copy_search', SENT],
  ['copy_append', SENT],
  ['copy_appended', SENT],
  ['copy_recorded', SENT],
]

/** Sends a message, whose service is killed at the moment and started again, and asks once more for what was lost. */
async function sendAndCrash(point: SendPoint | SinkStep): Promise<OutboxEntry> {
  const { sink } = walk
  await walk.crashAt(point)
  // A step of the conversation is seen by the server.
  sink.behave = ({ step }) => {
    if (step === point) walk.kill()
    return null
  }
  await walk.post(point).catch(() => null)
  await walk.restart()
  sink.behave = () => null
  return walk.post(point)
}

test(
  'a message is sent once or reported as unknown, wherever the service is killed',
  { timeout: 900_000 },
  async () => {
    const ended: OutboxEntry[] = []
    for (const [point, expected] of WALK) {
      const accepted = await sendAndCrash(point)
      expect({ point, ...accepted }).toMatchObject({ point, subject: point })
      const entry = await walk.waitForEnd(accepted)
      ended.push(entry)
      const deliveries = (await walk.sink.accepted()).filter(({ content }) =>
        content.includes(`Subject: ${point}\r\n`),
      )
      expect({ point, status: entry.status, accepted: deliveries.length }).toEqual({ point, ...expected })
      if (entry.status === 'failed') expect(entry.lastError?.reason).toBe('outcome_unknown')
      else
        expect({ point, copies: await walk.countCopies(entry.internetMessageId) }).toEqual({
          point,
          copies: 1,
        })
    }
    const events = await sendEvents(walk.caller())
    expect(events.map(({ type, data }) => [data.outbox.id, type]).toSorted()).toEqual(
      ended.map(({ id, status }) => [id, `send.${status}`]).toSorted(),
    )
    for (const table of ['outbox_content', 'outbox_piece']) {
      const { rows } = await sql`select from ${sql.table(table)}`.execute(walk.db)
      expect({ table, count: rows.length }).toEqual({ table, count: 0 })
    }
    const { body } = await walk
      .caller()
      .get<{ items: OutboxEntry[] }>(`/v1/accounts/${walk.accountId}/outbox`)
    expect(body.items).toHaveLength(WALK.length)
  },
)

const TOGETHER = 16

test.each([
  ['accept_commit', 9],
  ['accepted', 5],
] as const)(
  'sends that are accepted together are sent once each, though the service is killed at %s',
  { timeout: 300_000 },
  async (point, times) => {
    const subjects = Array.from({ length: TOGETHER }, (_, nth) => `${point}-${nth}`)
    // So that no hand-over is under way when the service is killed.
    const sendAt = new Date(Date.now() + 3_600_000).toISOString()
    const post = (subject: string) =>
      walk.call<OutboxEntry>('outbox', { to: [GRACE], subject, text: 'Hello.\n', sendAt }, subject)
    await walk.crashAt(point, times)
    const first = await Promise.allSettled(subjects.map(post))
    await walk.restart()
    const acknowledged = first.flatMap(answer => (answer.status === 'fulfilled' ? [answer.value] : []))
    expect(acknowledged.length).toBeLessThan(TOGETHER)
    const entries = await Promise.all(subjects.map(post))
    const ids = new Set(entries.map(({ id }) => id))
    expect(ids.size).toBe(TOGETHER)
    expect(acknowledged.filter(({ id }) => !ids.has(id))).toEqual([])
    for (const entry of entries) expect((await walk.waitForEnd(entry)).status).toBe('sent')
    const known = new Set(entries.map(({ internetMessageId }) => internetMessageId))
    const accepted = (await walk.sink.accepted()).flatMap(({ messageId }) => messageId ?? [])
    expect(accepted.filter(id => known.has(id)).toSorted()).toEqual([...known].toSorted())
    const { rows } = await sql`select from outbox where subject like ${`${point}-%`}`.execute(walk.db)
    expect(rows).toHaveLength(TOGETHER)
  },
)
