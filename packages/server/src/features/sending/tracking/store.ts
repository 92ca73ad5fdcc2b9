import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { JUDGE_AFTER_SECONDS, type MachineReason } from './judge.ts'

/** Messages that are found at once. */
const FOUND_MAX = 500

/** Messages with items to be judged, the longest waiting first, however many items of each wait. */
export async function listUnjudged(db: Db): Promise<Array<{ outboxId: string; tenantId: string }>> {
  const { rows } = await sql<{ outboxId: string; tenantId: string }>`
    select outbox_id as "outboxId", tenant_id as "tenantId" from tracking_item
    where is_machine is null and occurred_at <= clock_timestamp() - make_interval(secs => ${JUDGE_AFTER_SECONDS})
      and ${isNotPaused}
    group by outbox_id, tenant_id order by min(occurred_at) limit ${FOUND_MAX}
  `.execute(db)
  return rows
}

/** Messages that could not be judged are tried again at their time. */
const isNotPaused = sql`not exists (
  select from tracked_send as sent
  where sent.outbox_id = tracking_item.outbox_id and sent.judge_due_at > clock_timestamp()
)`

/** Seconds until something is to be judged; a large number if nothing waits. */
export async function secondsToJudge(db: Db): Promise<number> {
  const { rows } = await sql<{ seconds: number }>`
    select greatest(0, extract(epoch from occurred_at - clock_timestamp()) + ${JUDGE_AFTER_SECONDS})::float8 as seconds
    from tracking_item where is_machine is null and ${isNotPaused}
    order by occurred_at limit 1
  `.execute(db)
  return rows[0]?.seconds ?? Infinity
}

/** Messages of the whole installation whose opens and clicks could not be judged. */
export async function countPaused(db: Db): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from tracked_send where judge_due_at is not null
  `.execute(db)
  return rows[0]?.count ?? 0
}

/** The stored tracking of an entry. */
export interface TrackingRow {
  track_opens: boolean
  track_clicks: boolean
  links: Buffer | null
  opens: number
  machine_opens: number
  first_opened_at: Date | null
  last_opened_at: Date | null
  clicks: number
  machine_clicks: number
  first_clicked_at: Date | null
  last_clicked_at: Date | null
  link_clicks: Record<string, number>
}

/** Null if there is no such entry. Counts are zero if it was not tracked. */
export async function findTracking(db: Db, accountId: string, outboxId: string): Promise<TrackingRow | null> {
  const { rows } = await sql<TrackingRow>`
    select outbox.track_opens, outbox.track_clicks, sent.links, coalesce(sent.opens, 0) as opens,
      coalesce(sent.machine_opens, 0) as machine_opens, sent.first_opened_at, sent.last_opened_at,
      coalesce(sent.clicks, 0) as clicks, coalesce(sent.machine_clicks, 0) as machine_clicks, sent.first_clicked_at,
      sent.last_clicked_at, coalesce(sent.link_clicks, '{}') as link_clicks
    from outbox left join tracked_send as sent on sent.outbox_id = outbox.id
    where outbox.id = ${outboxId} and outbox.account_id = ${accountId}
  `.execute(db)
  return rows[0] ?? null
}

export interface ItemRow {
  kind: 'open' | 'click'
  link: number | null
  is_machine: boolean
  machine_reason: MachineReason | null
  ip: string | null
  user_agent: string | null
  occurred_at: Date
}

/** The judged items of a message, newest first. */
export async function listItems(db: Db, outboxId: string, limit: number): Promise<ItemRow[]> {
  const { rows } = await sql<ItemRow>`
    select kind, link, is_machine, machine_reason, ip, user_agent, occurred_at from tracking_item
    where outbox_id = ${outboxId} and is_machine is not null and kind <> 'honeypot'
    order by occurred_at desc, id desc limit ${limit}
  `.execute(db)
  return rows
}

/** Deletes the opens and clicks of entries that are gone. Their links still work. */
export async function sweepTracking(db: Db, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { numAffectedRows = 0n } = await sql`
      delete from tracking_item where id in (
        select id from tracking_item
        where not exists (select from outbox where outbox.id = tracking_item.outbox_id)
        limit ${FOUND_MAX} for update skip locked
      )
    `.execute(db)
    if (numAffectedRows < FOUND_MAX) return
  }
}
