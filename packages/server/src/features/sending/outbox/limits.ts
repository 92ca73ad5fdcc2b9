import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { refuse } from '../../refuse.ts'

/** Refuses new sends of a tenant whose payment is overdue, or whose plan has none left today. Spares the work only. */
export async function requireMaySend(db: Db, tenantId: string): Promise<void> {
  const { rows } = await sql<{ is_past_due: boolean; has_none_left: boolean }>`
    select tenant.past_due_at is not null as is_past_due,
      coalesce(coalesce(sends.count, 0) >= plan.sends_per_day, false) as has_none_left
    from tenant left join plan on plan.id = tenant.plan_id
    left join tenant_sends as sends
      on sends.tenant_id = tenant.id and sends.day = (clock_timestamp() at time zone 'UTC')::date
    where tenant.id = ${tenantId}
  `.execute(db)
  if (rows[0]?.is_past_due) refuse('billing_past_due')
  if (rows[0]?.has_none_left) refuse('plan_limit_sends')
}

/**
 * Counts a send on its day in UTC, where the plan limits sends, and refuses one too many. Call it last: all others that
 * the tenant accepts wait for the end of the transaction.
 * @param limit of the tenant's plan as it is now
 */
export async function countSend(unit: UnitOfWork, limit: number | null): Promise<void> {
  if (limit === null) return
  // The first one counts what was queued before the plan had a limit; its own row is among them.
  const { numAffectedRows = 0n } = await sql`
    insert into tenant_sends as sends (tenant_id, day, count)
    select ${unit.tenantId}, today.day, today.count from (
      select (clock_timestamp() at time zone 'UTC')::date as day, count(*)::int as count
      from account join outbox on outbox.account_id = account.id
        and outbox.created_at >= date_trunc('day', clock_timestamp(), 'UTC')
      where account.tenant_id = ${unit.tenantId}
    ) as today
    where today.count <= ${limit}
      or exists (select from tenant_sends where tenant_id = ${unit.tenantId} and day = today.day)
    on conflict (tenant_id, day) do update set count = sends.count + 1 where sends.count < ${limit}
  `.execute(unit.sql)
  if (numAffectedRows === 0n) refuse('plan_limit_sends')
}
