import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { type ComparedCounts, planComparison } from './rules.ts'
import { findComparisons } from './store.ts'

/** A mailbox is compared for the first time after this time, or within a day if it is older than that. */
const FIRST_SECONDS = { min: 60, max: 600 }
const DAY_SECONDS = 86_400

/** Schedules the first comparison of the account's mailboxes that have none. */
export async function scheduleComparisons(unit: UnitOfWork, accountId: string): Promise<void> {
  await sql`
    insert into mailbox_comparison (mailbox_id, account_id, due_at)
    select id, account_id, clock_timestamp() + random() * make_interval(secs => case
        when created_at < clock_timestamp() - make_interval(secs => ${DAY_SECONDS}::float8) then ${DAY_SECONDS}::float8
        else ${FIRST_SECONDS.max - FIRST_SECONDS.min}::float8 end) + make_interval(secs => ${FIRST_SECONDS.min}::float8)
    from mailbox where account_id = ${accountId} and source is not null
    on conflict (mailbox_id) do nothing
  `.execute(unit.sql)
}

/** Makes every mailbox of the account due now. */
export async function requestComparisons(unit: UnitOfWork, accountId: string): Promise<void> {
  await sql`
    insert into mailbox_comparison as planned (mailbox_id, account_id, due_at)
    select id, account_id, clock_timestamp() from mailbox
    where account_id = ${accountId} and source is not null and not is_deleted
    on conflict (mailbox_id) do update set due_at = least(planned.due_at, excluded.due_at)
  `.execute(unit.sql)
}

/**
 * Records what comparisons of mailboxes counted, and when the mailboxes are compared next.
 * @param again.isDoubtful whether messages are left of which it is not known whether they differ
 * @param again.secondsMax the time after which the mailboxes are compared again at the latest
 * @returns how many seconds from now that is for the first of them
 */
export async function recordComparisons(
  unit: UnitOfWork,
  accountId: string,
  counted: ReadonlyMap<string, ComparedCounts>,
  { isDoubtful, secondsMax }: { isDoubtful: boolean; secondsMax: number },
): Promise<number> {
  const before = await findComparisons(unit.sql, accountId)
  const known = new Map(before.map(comparison => [comparison.mailboxId, comparison]))
  const rows = [...counted].map(([mailboxId, counts]) => {
    const plan = planComparison(known.get(mailboxId) ?? null, counts, Math.random())
    const { repaired, stuckHours } = plan
    const dueIn = Math.min(plan.dueInSeconds, secondsMax)
    return { mailbox_id: mailboxId, ...counts, repaired, due_in: dueIn, stuck_hours: stuckHours }
  })
  await sql`
    insert into mailbox_comparison (mailbox_id, account_id, due_at, compared_at, listed, indexed, missing, extra,
      changed, repaired, stuck_hours, is_doubtful)
    select mailbox_id, ${accountId}::uuid, clock_timestamp() + make_interval(secs => due_in), clock_timestamp(), listed,
      indexed, missing, extra, changed, repaired, stuck_hours, ${isDoubtful}::boolean
    from json_to_recordset(${JSON.stringify(rows)}::json) as counted (mailbox_id uuid, due_in float8, listed integer,
      indexed integer, missing integer, extra integer, changed integer, repaired integer,
      stuck_hours integer)
    where exists (select from mailbox where mailbox.id = mailbox_id)
    on conflict (mailbox_id) do update set due_at = excluded.due_at, compared_at = excluded.compared_at,
      listed = excluded.listed, indexed = excluded.indexed, missing = excluded.missing, extra = excluded.extra,
      changed = excluded.changed, repaired = excluded.repaired, stuck_hours = excluded.stuck_hours,
      is_doubtful = excluded.is_doubtful
  `.execute(unit.sql)
  return Math.min(...rows.map(row => row.due_in))
}

/** Puts off comparisons that could not be made. Earlier ones count as long as they would have. */
export async function postponeComparisons(
  unit: UnitOfWork,
  mailboxIds: readonly string[],
  { seconds, isDoubtful }: { seconds: number; isDoubtful: boolean },
): Promise<void> {
  await sql`
    update mailbox_comparison set due_at = clock_timestamp() + make_interval(secs => ${seconds}::float8),
      is_doubtful = is_doubtful or ${isDoubtful}
    where mailbox_id = any(${mailboxIds}::uuid[])
  `.execute(unit.sql)
}
