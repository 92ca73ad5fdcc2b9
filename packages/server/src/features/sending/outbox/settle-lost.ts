import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { Lease } from '../../../processes/lease.ts'
import type { BounceCounts } from '../bounces/record-bounces.ts'
import { recordRefusals } from '../bounces/record-refusals.ts'
import { isLost } from './claims.ts'
import { discardContent } from './record-attempt.ts'
import { MAY_HAVE_BEEN_SENT, OUTCOME_UNKNOWN, type RejectedRecipient } from './rules.ts'
import { inBatches } from './sweep.ts'
import { moving, settling } from './transitions.ts'

const BATCH_ROWS = 200

interface Settled {
  id: string
  account_id: string
  rejected: RejectedRecipient[]
}

const waitingAsRejected = sql`(
  select coalesce(jsonb_agg(jsonb_build_object(
    'address', address, 'status', '4.0.0', 'message', case when held_since is null
      then ${OUTCOME_UNKNOWN.message}::text else ${MAY_HAVE_BEEN_SENT.message}::text end)), '[]')
  from unnest(waiting) as address)`

/**
 * Ends attempts for the last recipients of sent messages that no living process makes. Their outcome will not be known,
 * so these recipients count as refused.
 */
export async function settleLost(
  db: Db,
  { lease, running }: { lease: Lease; running: readonly string[] },
  signal: AbortSignal,
): Promise<BounceCounts> {
  const isSettled = sql<boolean>`${isLost(lease, running)} and phase = 'handed_over' and status <> 'sending'`
  const counts = { hard: 0, soft: 0 }
  await inBatches(
    db,
    signal,
    sql`select id, tenant_id, account_id from outbox where ${isSettled} limit ${BATCH_ROWS}`,
    async (unit, ids) => {
      const which = sql`id in (
        select id from outbox where id = any(${ids}::uuid[]) and ${isSettled} order by id for update skip locked)`
      const { rows } = await sql<Settled>`
        ${moving(settling(waitingAsRejected), which)} returning id, account_id, rejected
      `.execute(unit.sql)
      for (const { id } of rows) await discardContent(unit, id)
      const ended = rows.map(({ id, account_id: accountId, rejected }) => ({
        attempt: { id, accountId },
        next: { status: 'sent' as const, rejected },
      }))
      // No server has refused these recipients, so none is suppressed.
      const refusals = await recordRefusals(unit, ended)
      counts.hard += refusals.counts.hard
      counts.soft += refusals.counts.soft
    },
  )
  return counts
}
