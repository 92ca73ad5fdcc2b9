import type { EventType } from '@waxwing/contract/events.ts'
import {
  ATTEMPTS_SHOWN_DAYS,
  ATTEMPTS_SHOWN_MAX,
  type AttemptError,
  type WebhookAttempt,
} from '@waxwing/contract/notifications/webhook-deliveries.ts'
import { sql } from 'kysely'
import { rowsToRead } from '../../../database/page.ts'
import type { Db } from '../../../database/pool.ts'

export interface AttemptFilters {
  eventType?: EventType | undefined
  eventId?: string | undefined
  accountId?: string | undefined
  result?: 'succeeded' | 'failed' | undefined
  since?: Date | undefined
  until?: Date | undefined
}

export interface AttemptRow {
  id: string
  eventId: string
  eventType: EventType
  accountId: string | null
  attempt: number
  statusCode: number | null
  error: AttemptError | null
  responseExcerpt: string | null
  durationMs: number
  isReplay: boolean
  isTest: boolean
  occurredAt: Date
}

/** The attempts that can be read. Filters are applied to these, never to older ones. */
function logOf(endpointId: string) {
  return sql`
    select * from (
      select * from webhook_attempt where endpoint_id = ${endpointId} order by id desc limit ${ATTEMPTS_SHOWN_MAX}
    ) as latest
    where occurred_at > clock_timestamp() - make_interval(days => ${ATTEMPTS_SHOWN_DAYS})`
}

/** Lists attempts of an endpoint, newest first; one more than the limit if there are more. */
export async function listAttempts(
  db: Db,
  endpointId: string,
  { filters, before, limit }: { filters: AttemptFilters; before: string | null; limit: number },
): Promise<AttemptRow[]> {
  const { eventType, eventId, accountId, result, since, until } = filters
  const conditions = [
    sql`true`,
    ...(before === null ? [] : [sql`id < ${before}`]),
    ...(eventType === undefined ? [] : [sql`event_type = ${eventType}`]),
    ...(eventId === undefined ? [] : [sql`event_id = ${eventId}::numeric`]),
    ...(accountId === undefined ? [] : [sql`account_id = ${accountId}`]),
    ...(result === undefined
      ? []
      : [sql`coalesce(status_code between 200 and 299, false) = ${result === 'succeeded'}`]),
    ...(since === undefined ? [] : [sql`occurred_at >= ${since}`]),
    ...(until === undefined ? [] : [sql`occurred_at < ${until}`]),
  ]
  const { rows } = await sql<AttemptRow>`
    select id, event_id::text as "eventId", event_type as "eventType", account_id as "accountId", attempt,
      status_code as "statusCode", error, response_excerpt as "responseExcerpt", duration_ms as "durationMs",
      is_replay as "isReplay", is_test as "isTest", occurred_at as "occurredAt"
    from (${logOf(endpointId)}) as log where ${sql.join(conditions, sql` and `)}
    order by id desc limit ${rowsToRead(limit)}
  `.execute(db)
  return rows
}

/** Whether an attempt can still be read. */
export async function isInLog(db: Db, endpointId: string, attemptId: string): Promise<boolean> {
  const { rows } = await sql`
    select from (${logOf(endpointId)}) as log where id = ${attemptId}
  `.execute(db)
  return rows.length > 0
}

export function presentAttempt({ occurredAt, ...row }: AttemptRow): WebhookAttempt {
  return { ...row, occurredAt: occurredAt.toISOString() }
}
