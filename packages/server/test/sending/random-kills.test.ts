import type { OutboxEntry } from '@waxwing/contract/sending/outbox.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { listUsageDays } from '../../src/features/tenancy/usage/store.ts'
import { pause } from '../../src/processes/nudge.ts'
import { type Random, seeded } from '../seeded.ts'
import type { SinkAnswer, SinkMoment } from '../servers/smtp-sink.ts'
import { waitUntil } from '../wait-until.ts'
import { openKillableDatabase } from '../killable-database.ts'
import { type KillableSender, openKillableSending } from './killable-sending.ts'

const KILLS = Number(process.env['WAXWING_TEST_KILLS'] ?? 2)
const MESSAGES = 5 * KILLS
const SENDERS = 3
/** With the start of the service after it, on a slow machine. */
const SECONDS_PER_KILL_MAX = 30
/** A key whose request was lost is free again after 15 seconds; the next request may be lost as well. */
const ANSWER_SECONDS_MAX = 180

/** A server that takes its time, puts off, refuses, drops the connection, or accepts and loses the answer. */
function misbehave(random: Random) {
  return async ({ step }: SinkMoment): Promise<SinkAnswer | null> => {
    await pause(random.between(0, 30))
    if (!random.chance(0.05)) return null
    if (step === 'mail') return '421 4.7.0 busy'
    if (step === 'rcpt') return '450 4.2.0 later'
    if (step === 'dot') return random.chance(0.5) ? { does: 'accept_and_drop' } : '554 5.7.1 no'
    return { does: 'drop' }
  }
}

/** Victims of the kills, in turn. */
const VICTIMS = ['service', 'database', 'service', 'connection'] as const

/** Sends messages, several at a time; a request that gets no answer is repeated with its key. */
async function sendAll({ post }: KillableSender, random: Random): Promise<OutboxEntry[]> {
  const waiting = Array.from({ length: MESSAGES }, (_, index) => `message-${index}`)
  const accepted: OutboxEntry[] = []
  const sendSome = async () => {
    for (let subject = waiting.shift(); subject !== undefined; subject = waiting.shift()) {
      const key = subject
      accepted.push(await waitUntil('an answer', () => post(key).catch(() => null), ANSWER_SECONDS_MAX))
      await pause(random.between(20, 300))
    }
  }
  await Promise.all(Array.from({ length: SENDERS }, sendSome))
  return accepted
}

test(
  'whenever the service or the database is killed, each message is sent once or reported',
  { timeout: 300_000 + KILLS * SECONDS_PER_KILL_MAX * 1_000 },
  async () => {
    const postgres = await openKillableDatabase()
    // Ends with the database, too.
    await using walk = await openKillableSending([], async () => postgres)
    const { sink, db } = walk
    const sender = await walk.connect()
    const random = seeded('random kills')
    sink.behave = misbehave(random.fork('server'))
    const sending = sendAll(sender, random.fork('senders'))
    for (let kills = 0; kills < KILLS; kills++) {
      await pause(random.between(200, 2_500))
      const victim = VICTIMS[kills % VICTIMS.length]
      if (victim === 'connection') await postgres.killConnection()
      else if (victim === 'database') await postgres.killServer()
      else {
        await walk.kill()
        await walk.restart()
      }
    }
    const accepted = await sending
    sink.behave = () => null

    const ended: OutboxEntry[] = []
    for (const entry of accepted) ended.push(await walk.waitForEnd(entry))
    const journal = (await sink.accepted()).map(({ messageId }) => messageId)
    for (const { id, status, lastError, internetMessageId } of ended) {
      const count = journal.filter(messageId => messageId === internetMessageId).length
      const copies = await sender.countCopies(internetMessageId)
      const reason = lastError?.reason ?? null
      if (status === 'sent') expect({ id, count, copies }).toEqual({ id, count: 1, copies: 1 })
      else if (reason === 'outcome_unknown') expect([0, 1]).toContain(count)
      else
        expect({ id, count, copies, reason }).toEqual({
          id,
          count: 0,
          copies: 0,
          reason: 'provider_rejected',
        })
    }
    expect(new Set(ended.map(({ id }) => id)).size).toBe(MESSAGES)
    expect(new Set(journal).size).toBe(journal.length)
    const { rows: events } = await sql<{ id: string }>`
    select data -> 'outbox' ->> 'id' as id from event where type in ('send.sent', 'send.failed')
  `.execute(db)
    expect(events.map(({ id }) => id).toSorted()).toEqual(ended.map(({ id }) => id).toSorted())
    const days = await listUsageDays(db, walk.tenantId, { from: '2020-01-01', to: '2100-01-01' })
    const counted = days.reduce((total, { sends }) => total + sends, 0)
    expect(counted).toBe(ended.filter(({ status }) => status === 'sent').length)
    for (const table of ['outbox_content', 'outbox_piece']) {
      const { rows } = await sql`select from ${sql.table(table)}`.execute(db)
      expect({ table, count: rows.length }).toEqual({ table, count: 0 })
    }
  },
)
