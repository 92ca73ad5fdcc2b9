import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { SendPoint } from '../../src/features/sending/outbox/points.ts'
import { useServer } from '../servers/shared-server.ts'
import type { SinkStep } from '../servers/smtp-sink.ts'
import { waitUntil } from '../wait-until.ts'
import { invitation, invite } from './inviting.ts'
import { hurry, openKillableSending } from './killable-sending.ts'
import { sendEvents } from './open-sending.ts'
import { requireListedStates } from './written-states.ts'

const opened = useServer(() => openKillableSending())

interface Expected {
  status: 'sent' | 'failed'
  /** How often the server accepted the mail. */
  accepted: number
}

/** The end of an invitation that was at the moment when the service was killed. */
const WALK: ReadonlyArray<readonly [SendPoint | SinkStep, Expected]> = [
  ['claimed', { status: 'sent', accepted: 1 }],
  ['mail_from', { status: 'sent', accepted: 1 }],
  ['hand_over_commit', { status: 'sent', accepted: 1 }],
  // From here on, nothing proves that it was not accepted, and no copy among the sent mail that it was.
  ['hand_over_recorded', { status: 'failed', accepted: 0 }],
  ['dot', { status: 'failed', accepted: 1 }],
  ['answered', { status: 'failed', accepted: 1 }],
  ['outcome_commit', { status: 'failed', accepted: 1 }],
  ['outcome_recorded', { status: 'sent', accepted: 1 }],
]

test(
  'an invitation is never sent twice, wherever it is when the service is killed',
  { timeout: 300_000 },
  async () => {
    const walk = opened()
    const { sink, db } = walk
    const mails = new Map(WALK.map(([point]) => [point, invitation({ subject: point })]))
    const accounts = new Map<string, string>()
    for (const [point] of WALK) accounts.set(point, (await walk.connect()).accountId)
    const queue = (point: SendPoint | SinkStep) => invite(walk, accounts.get(point)!, [mails.get(point)!])
    const killed = Promise.withResolvers<null>()
    for (const [point] of WALK) {
      if (point !== 'dot') {
        await walk.holdAt(point, () => queue(point))
        continue
      }
      const atDot = Promise.withResolvers<void>()
      sink.behave = ({ step }) => {
        if (step !== 'dot') return null
        sink.behave = () => null
        atDot.resolve()
        return killed.promise
      }
      await queue(point)
      await atDot.promise
    }
    await walk.kill()
    killed.resolve(null)
    await walk.restart()
    // As the finisher of an interrupted write queues them again.
    for (const [point] of WALK) await queue(point)

    await waitUntil('the end of all', async () => {
      await hurry(db)
      await requireListedStates(db)
      const { rows } = await sql`
      select from outbox where status not in ('sent', 'failed') or phase is not null or task is not null
    `.execute(db)
      return rows.length === 0
    })
    const accepted = await sink.accepted()
    const ended: unknown[] = []
    for (const [point] of WALK) {
      const { id } = mails.get(point)!
      const { rows } = await sql<{ status: string }>`select status from outbox where id = ${id}`.execute(db)
      const deliveries = accepted.filter(({ content }) => content.includes(`X-Waxwing-Outbox: ${id}`))
      ended.push([point, { status: rows[0]?.status, accepted: deliveries.length }])
    }
    expect(ended).toEqual(WALK)
    expect(await sendEvents(walk.caller())).toEqual([])
    // Each that failed is logged once with its event.
    for (const [point, { status }] of WALK) {
      const lines = walk
        .output()
        .split('\n')
        .filter(line => line.includes(mails.get(point)!.eventId))
      expect([point, lines.length]).toEqual([point, status === 'failed' ? 1 : 0])
    }
    for (const table of ['outbox_content', 'outbox_piece']) {
      const { rows } = await sql`select from ${sql.table(table)}`.execute(db)
      expect({ table, count: rows.length }).toEqual({ table, count: 0 })
    }
  },
)
