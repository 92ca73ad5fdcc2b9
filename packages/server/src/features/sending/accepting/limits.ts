import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { refuse } from '../../../calls/refuse.ts'

/**
 * Refuses new sends of a tenant whose payment is overdue, or whose plan has fewer left today. Spares the work only.
 * @param count at least 1
 */
export async function requireMaySend(db: Db, tenantId: string, count = 1): Promise<void> {
  const { rows } = await sql<{ is_past_due: boolean; has_too_few_left: boolean }>`
    select tenant.past_due_at is not null as is_past_due,
      coalesce(coalesce(sends.count, 0) + ${count}::int > plan.sends_per_day, false) as has_too_few_left
    from tenant left join plan on plan.id = tenant.plan_id
    left join tenant_sends as sends
      on sends.tenant_id = tenant.id and sends.day = (clock_timestamp() at time zone 'UTC')::date
    where tenant.id = ${tenantId}
  `.execute(db)
  if (rows[0]?.is_past_due) refuse('billing_past_due')
  if (rows[0]?.has_too_few_left) refuse('plan_limit_sends')
}

/**
 * Counts sends on their day in UTC, if the plan limits them: as many as the day has left. Call it last: all others that
 * the tenant accepts wait for the end of the transaction.
 * @param limit of the tenant's plan as it is now
 * @param count of sends that this transaction has queued
 * @returns how many of them may be sent
 */
export async function countSends(unit: UnitOfWork, limit: number | null, count: number): Promise<number> {
  if (limit === null) return count
  const granted = await takeSends(unit, limit, count)
  if (granted !== null) return granted
  // The first ones of the day also count the sends that were queued before the plan had a limit.
  await sql`
    insert into tenant_sends (tenant_id, day, count)
    select ${unit.tenantId}, (clock_timestamp() at time zone 'UTC')::date,
      greatest(0, (${queuedToday(unit.tenantId)}) - ${count}::int)::int
    on conflict (tenant_id, day) do nothing
  `.execute(unit.sql)
  return (await takeSends(unit, limit, count)) ?? 0
}

interface Queued {
  tenantId: string
  /** Messages that the transaction has queued. */
  count: number
}

/**
 * Counts messages of one tenant on their day in UTC that are sent even if its plan has no room for them. Leave it to the
 * unit: all others that the tenant accepts wait for the end of the transaction.
 */
export async function recordQueued(tx: Db, queued: readonly Queued[]): Promise<void> {
  const [first] = queued
  if (!first) return
  const count = queued.reduce((sum, each) => sum + each.count, 0)
  // The first ones of the day also count the sends that were queued before the plan had a limit.
  await sql`
    insert into tenant_sends as sends (tenant_id, day, count)
    select tenant.id, (clock_timestamp() at time zone 'UTC')::date, (${queuedToday(first.tenantId)})::int
    from tenant join plan on plan.id = tenant.plan_id
    where tenant.id = ${first.tenantId} and plan.sends_per_day is not null
    on conflict (tenant_id, day) do update set count = sends.count + ${count}::int
  `.execute(tx)
}

/**
 * Counts the messages that the tenant queued today in UTC: the ones that count for its plan, or all if it has no limit.
 */
export async function countQueuedToday(db: Db, tenantId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select coalesce((
      select sends.count from tenant join plan on plan.id = tenant.plan_id
      join tenant_sends as sends on sends.tenant_id = tenant.id
        and sends.day = (clock_timestamp() at time zone 'UTC')::date
      where tenant.id = ${tenantId} and plan.sends_per_day is not null
    ), (${queuedToday(tenantId)}))::int as count
  `.execute(db)
  // A statement without FROM has one row.
  return rows[0]!.count
}

const queuedToday = (tenantId: string) => sql`
  select count(*) from account join outbox on outbox.account_id = account.id
    and outbox.created_at >= date_trunc('day', clock_timestamp(), 'UTC')
  where account.tenant_id = ${tenantId}`

/** Null if nothing was counted today. */
async function takeSends(unit: UnitOfWork, limit: number, count: number): Promise<number | null> {
  const { rows } = await sql<{ granted: number }>`
    update tenant_sends as sends set count = held.count + least(${count}::int, greatest(0, ${limit}::int - held.count))
    from (
      select tenant_id, day, count from tenant_sends
      where tenant_id = ${unit.tenantId} and day = (clock_timestamp() at time zone 'UTC')::date for update
    ) as held
    where sends.tenant_id = held.tenant_id and sends.day = held.day
    returning sends.count - held.count as granted
  `.execute(unit.sql)
  return rows[0]?.granted ?? null
}
