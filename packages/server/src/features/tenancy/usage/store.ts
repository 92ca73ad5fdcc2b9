import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'

/** Days for which usage is kept, today included. */
export const KEPT_DAYS = 400
/** Counts that are added to their days by one statement. */
const FOLD_ROWS_MAX = 10_000

const today = sql`(clock_timestamp() at time zone 'UTC')::date`

/** The day in UTC, as `YYYY-MM-DD`. */
export async function findToday(db: Db): Promise<string> {
  const { rows } = await sql<{ today: string }>`select to_char(${today}, 'YYYY-MM-DD') as today`.execute(db)
  // A statement without FROM has one row.
  return rows[0]!.today
}

/** The usage of a day in UTC. */
export interface UsageRow {
  /** `YYYY-MM-DD` */
  date: string
  live_accounts: number
  read: number
  write: number
  send: number
  admin: number
  sends: number
  webhook_deliveries: number
  ai_calls: number
  stored_bytes: number | null
}

const sumOf = (what: keyof UsageRow) => sql`coalesce(sum(count) filter (where what = ${what}), 0)`

/** Sums of rows of `usage_count`. */
const sums = sql`
  ${sumOf('read')} as read, ${sumOf('write')} as write, ${sumOf('send')} as send, ${sumOf('admin')} as admin,
  ${sumOf('sends')} as sends, ${sumOf('webhook_deliveries')} as webhook_deliveries, ${sumOf('ai_calls')} as ai_calls`

/** Lists the days of a range that have usage, oldest first. Counts are as of this statement, folded or not. */
export async function listUsageDays(
  db: Db,
  tenantId: string,
  range: { from: string; to: string },
): Promise<UsageRow[]> {
  const isInRange = sql`tenant_id = ${tenantId} and day between ${range.from}::date and ${range.to}::date`
  const added = (column: keyof UsageRow) =>
    sql`(coalesce(kept.${sql.ref(column)}, 0) + coalesce(more.${sql.ref(column)}, 0))::float8 as ${sql.ref(column)}`
  const { rows } = await sql<UsageRow>`
    select to_char(day, 'YYYY-MM-DD') as date, coalesce(live_accounts, 0) as live_accounts, ${added('read')},
      ${added('write')}, ${added('send')}, ${added('admin')}, ${added('sends')}, ${added('webhook_deliveries')},
      ${added('ai_calls')}, stored_bytes::float8 as stored_bytes
    from (select * from usage_day where ${isInRange}) as kept
    full join (select day, ${sums} from usage_count where ${isInRange} group by day) as more using (day)
    order by day
  `.execute(db)
  return rows
}

/**
 * Adds new counts to their days. A day that has passed, and has no row yet, gets its stored bytes here, since the
 * listing missed it.
 */
export async function foldCounts(db: Db, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { rows } = await sql<{ taken: number }>`
      with taken as (
        delete from usage_count where ctid = any(array(
          select ctid from usage_count limit ${FOLD_ROWS_MAX} for update skip locked))
        returning *
      ), folded as (
        insert into usage_day as kept
          (tenant_id, day, read, write, send, admin, sends, webhook_deliveries, ai_calls, stored_bytes)
        select tenant_id, day, ${sums},
          case when day < ${today} then coalesce(
            (select bytes from tenant_storage as used where used.tenant_id = taken.tenant_id), 0) end
        from taken group by tenant_id, day order by tenant_id, day
        on conflict (tenant_id, day) do update set read = kept.read + excluded.read,
          write = kept.write + excluded.write, send = kept.send + excluded.send, admin = kept.admin + excluded.admin,
          sends = kept.sends + excluded.sends, ai_calls = kept.ai_calls + excluded.ai_calls,
          webhook_deliveries = kept.webhook_deliveries + excluded.webhook_deliveries
      )
      select count(*)::int as taken from taken
    `.execute(db)
    if ((rows[0]?.taken ?? 0) < FOLD_ROWS_MAX) return
  }
}

/** Notes how many accounts tenants have live now, if it is more than at any other time of the day. */
export async function recordLiveAccounts(
  db: Db,
  counts: ReadonlyArray<{ tenantId: string; live: number }>,
): Promise<void> {
  const counted = counts.filter(({ live }) => live > 0)
  if (counted.length === 0) return
  await sql`
    insert into usage_day as kept (tenant_id, day, live_accounts)
    select tenant_id, ${today}, live
    from unnest(${counted.map(({ tenantId }) => tenantId)}::uuid[], ${counted.map(({ live }) => live)}::int[])
      as sampled (tenant_id, live)
    order by tenant_id
    on conflict (tenant_id, day) do update set live_accounts = excluded.live_accounts
      where kept.live_accounts < excluded.live_accounts
  `.execute(db)
}

/**
 * Records the present storage of tenants as the storage of the day before, and of earlier days whose listing did not
 * run. It runs a minute after midnight, since the database decides the day, and its clock may be behind.
 */
export async function listStoredBytes(db: Db): Promise<void> {
  await sql`
    insert into usage_day as kept (tenant_id, day, stored_bytes)
    select tenant_id, ${today} - 1, bytes from tenant_storage where bytes > 0 order by tenant_id
    on conflict (tenant_id, day) do nothing
  `.execute(db)
  await sql`
    with missed as (
      select tenant_id, day from usage_day where stored_bytes is null and day < ${today}
      order by tenant_id, day for update
    )
    update usage_day as kept
    set stored_bytes = coalesce((select bytes from tenant_storage as used where used.tenant_id = kept.tenant_id), 0)
    from missed where kept.tenant_id = missed.tenant_id and kept.day = missed.day
  `.execute(db)
}

/** Deletes the usage of days that are kept no longer. */
export async function deleteOldUsage(db: Db): Promise<void> {
  await sql`delete from usage_day where day <= ${today} - ${KEPT_DAYS}::int`.execute(db)
}
