import { sql } from 'kysely'
import { recordCompared } from '../../../accounts/halves/comparison.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import {
  type ComparedCounts,
  type ComparisonPlan,
  planComparison,
  summarize,
} from '../../mail/comparisons/rules.ts'
import { findCalendarComparisons } from './store.ts'

/** A calendar is compared for the first time after this time. */
const FIRST_SECONDS = { min: 60, max: 300 }

/** Schedules the first comparison of the account's calendars that have none. */
export async function scheduleCalendars(unit: UnitOfWork, accountId: string): Promise<void> {
  await sql`
    insert into calendar_comparison (calendar_id, account_id, due_at)
    select id, account_id, clock_timestamp() + make_interval(
      secs => ${FIRST_SECONDS.min}::float8 + random() * ${FIRST_SECONDS.max - FIRST_SECONDS.min}::float8)
    from calendar where account_id = ${accountId} and is_complete and not is_ending
    on conflict (calendar_id) do nothing
  `.execute(unit.sql)
}

/** Makes every calendar of the account due now. */
export async function requestCalendarComparisons(unit: UnitOfWork, accountId: string): Promise<void> {
  await sql`
    insert into calendar_comparison as planned (calendar_id, account_id, due_at)
    select id, account_id, clock_timestamp() from calendar where account_id = ${accountId} and not is_ending
    on conflict (calendar_id) do update set due_at = least(planned.due_at, excluded.due_at)
  `.execute(unit.sql)
}

/**
 * Records what a comparison of a calendar counted. A calendar that differs loses its cursor, so that the follower compares
 * all of it.
 * @returns when the calendar is compared next
 */
export async function recordCalendarComparison(
  unit: UnitOfWork,
  { accountId, calendarId }: { accountId: string; calendarId: string },
  counts: ComparedCounts,
): Promise<ComparisonPlan> {
  const before = await findCalendarComparisons(unit.sql, accountId)
  const known = before.find(comparison => comparison.calendarId === calendarId) ?? null
  const plan = planComparison(known, counts, Math.random())
  const { listed, indexed, missing, extra, changed } = counts
  await sql`
    update calendar_comparison set
      due_at = clock_timestamp() + make_interval(secs => ${plan.dueInSeconds}::float8), compared_at = clock_timestamp(),
      listed = ${listed}, indexed = ${indexed}, missing = ${missing}, extra = ${extra}, changed = ${changed},
      repaired = ${plan.repaired}, stuck_hours = ${plan.stuckHours}
    where calendar_id = ${calendarId}
  `.execute(unit.sql)
  if (missing + extra + changed > 0)
    await sql`update calendar set cursor = null where id = ${calendarId}`.execute(unit.sql)
  await recordCalendarsDiffering(unit, accountId)
  return plan
}

/** Puts off the comparison of a calendar that could not be listed. The earlier one counts as long as it would have. */
export async function postponeCalendar(unit: UnitOfWork, calendarId: string, seconds: number): Promise<void> {
  await sql`
    update calendar_comparison set due_at = clock_timestamp() + make_interval(secs => ${seconds}::float8)
    where calendar_id = ${calendarId}
  `.execute(unit.sql)
}

/** Updates the summary that the half has of the comparisons of its calendars. */
export async function recordCalendarsDiffering(unit: UnitOfWork, accountId: string): Promise<void> {
  const { openCount, verifiedAt } = summarize(await findCalendarComparisons(unit.sql, accountId))
  await recordCompared(unit, { accountId, kind: 'calendar' }, { differs: openCount > 0, verifiedAt })
}
