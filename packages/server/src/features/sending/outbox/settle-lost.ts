import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { Lease } from '../../../processes/lease.ts'
import { recordRefusals } from '../bounces/record-refusals.ts'
import { failedInvitation } from '../invitations/failures.ts'
import { isLost } from './claims.ts'
import { addNews, type EndNews, noNews } from './end-news.ts'
import { discardContent } from './record-attempt.ts'
import { MAY_HAVE_BEEN_SENT, OUTCOME_UNKNOWN, type RejectedRecipient } from './rules.ts'
import { inBatches } from './sweep.ts'
import { moving, settling } from './transitions.ts'

const BATCH_ROWS = 200

interface Settled {
  id: string
  account_id: string
  event_id: string | null
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
): Promise<EndNews> {
  const isSettled = sql<boolean>`${isLost(lease, running)} and phase = 'handed_over' and status <> 'sending'`
  const news = noNews()
  await inBatches(
    db,
    signal,
    sql`select id, tenant_id, account_id from outbox where ${isSettled} limit ${BATCH_ROWS}`,
    async (unit, ids) => {
      const which = sql`id in (
        select id from outbox where id = any(${ids}::uuid[]) and ${isSettled} order by id for update skip locked)`
      const { rows } = await sql<Settled>`
        ${moving(settling(waitingAsRejected), which)} returning id, account_id, event_id, rejected
      `.execute(unit.sql)
      for (const { id } of rows) await discardContent(unit, id)
      const ended = rows.map(({ id, account_id: accountId, event_id: eventId, rejected }) => ({
        attempt: { id, accountId, eventId },
        next: { status: 'sent' as const, rejected, dueAt: null, error: OUTCOME_UNKNOWN },
      }))
      // No server has refused these recipients, so none is suppressed.
      const { counts } = await recordRefusals(unit, ended)
      const failed = ended.flatMap(
        ({ attempt, next }) => failedInvitation(unit.tenantId, attempt, next) ?? [],
      )
      addNews(news, { counts, failed })
    },
  )
  return news
}
