import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { SendPoint } from '../../src/features/sending/outbox/points.ts'
import { useServer } from '../servers/shared-server.ts'
import type { SinkStep } from '../servers/smtp-sink.ts'
import { waitUntil } from '../wait-until.ts'
import { hurryTasks, type KillableSender, openKillableSending } from './killable-sending.ts'
import { GRACE, sendEvents } from './open-sending.ts'
import { casesFor } from '../soak.ts'

interface Expected {
  status: 'sent' | 'failed'
  /** How often the server accepted the message. */
  accepted: number
}

const opened = useServer(() => openKillableSending())

const SENT: Expected = { status: 'sent', accepted: 1 }

/** The end of a message that was at the moment when the service was killed. */
const WALK: ReadonlyArray<readonly [SendPoint | SinkStep, Expected]> = [
  ['content_write', SENT],
  ['content_written', SENT],
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
  ['copy_search', SENT],
  ['copy_append', SENT],
  ['copy_appended', SENT],
  ['copy_recorded', SENT],
  // Late, so that its copy is not filed before the kill.
  ['outcome_recorded', SENT],
  // The last, since its transaction is open until the kill.
  ['accept_commit', SENT],
]

/** Moments that the server sees, and not the service. */
const SEEN_BY_SERVER: ReadonlySet<string> = new Set<SinkStep>(['rcpt', 'dot'])

test(
  'a message is sent once or reported as unknown, wherever it is when the service is killed',
  { timeout: 300_000 },
  async () => {
    const walk = opened()
    const { sink, db } = walk
    const killed = Promise.withResolvers<null>()
    const senders = new Map<string, KillableSender>()
    for (const [point] of WALK) senders.set(point, await walk.connect())
    // Otherwise the message that is accepted may be anywhere when the service is killed.
    const later = { sendAt: new Date(Date.now() + 3_600_000).toISOString() }
    const postAt = (point: string) => senders.get(point)!.post(point, point === 'accepted' ? later : {})
    for (const [point] of WALK) {
      const post = () => postAt(point)
      if (!SEEN_BY_SERVER.has(point)) {
        const isCopied = point.startsWith('copy_')
        await walk.holdAt(point, post, isCopied ? () => hurryTasks(db) : undefined)
        continue
      }
      let isHeld = false
      sink.behave = ({ step }) => {
        if (isHeld || step !== point) return null
        isHeld = true
        return killed.promise
      }
      await post()
      await waitUntil(`the server to see ${point}`, async () => isHeld)
    }
    await walk.kill()
    killed.resolve(null)
    await walk.restart()

    const ended: OutboxEntry[] = []
    for (const [point, expected] of WALK) {
      const accepted = await postAt(point)
      expect({ point, ...accepted }).toMatchObject({ point, subject: point })
      const entry = await walk.waitForEnd(accepted)
      const deliveries = (await sink.accepted()).filter(({ content }) =>
        content.includes(`Subject: ${point}\r\n`),
      )
      expect({ point, status: entry.status, accepted: deliveries.length }).toEqual({ point, ...expected })
      const reason = entry.lastError?.reason ?? null
      if (entry.status === 'failed') expect({ point, reason }).toEqual({ point, reason: 'outcome_unknown' })
      else
        expect({ point, copies: await senders.get(point)!.countCopies(entry.internetMessageId) }).toEqual({
          point,
          copies: 1,
        })
      const path = `/v1/accounts/${entry.accountId}/outbox`
      const { body } = await walk.caller().get<{ items: OutboxEntry[] }>(path)
      expect({ point, ids: body.items.map(({ id }) => id) }).toEqual({ point, ids: [entry.id] })
      ended.push(entry)
    }
    const ids = new Set(ended.map(({ id }) => id))
    const events = (await sendEvents(walk.caller())).filter(({ data }) => ids.has(data.outbox.id))
    expect(events.map(({ type, data }) => [data.outbox.id, type]).toSorted()).toEqual(
      ended.map(({ id, status }) => [id, `send.${status}`]).toSorted(),
    )
    for (const table of ['outbox_content', 'outbox_piece']) {
      const { rows } = await sql`select from ${sql.table(table)}`.execute(db)
      expect({ table, count: rows.length }).toEqual({ table, count: 0 })
    }
  },
)

const TOGETHER = 16

const KILLED_AT = [
  ['accept_commit', 9],
  ['accepted', 5],
] as const

test.each(casesFor(KILLED_AT, ([point]) => point === 'accept_commit'))(
  'sends that are accepted together are sent once each, though the service is killed at %s',
  { timeout: 300_000 },
  async (point, times) => {
    const walk = opened()
    const sender = await walk.connect()
    const subjects = Array.from({ length: TOGETHER }, (_, nth) => `${point}-${nth}`)
    // So that no hand-over is under way when the service is killed.
    const sendAt = new Date(Date.now() + 3_600_000).toISOString()
    const post = (subject: string) =>
      sender.call<OutboxEntry>('outbox', { to: [GRACE], subject, text: 'Hello.\n', sendAt }, subject)
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
