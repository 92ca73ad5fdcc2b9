import { sql } from 'kysely'
import type { UnitOfWork } from '../events/unit-of-work.ts'
import { findComparisons } from '../features/integrity/comparisons/store.ts'
import { openDifferences } from '../features/integrity/comparisons/rules.ts'

/**
 * Updates what the account says of the comparisons of its mailboxes: since when it differs from its provider, and when it
 * was last found equal. An account that differs is not live.
 * @returns how many differences are open
 */
export async function recordDiffering(unit: UnitOfWork, accountId: string): Promise<number> {
  const comparisons = await findComparisons(unit.sql, accountId)
  const open = comparisons.reduce((sum, comparison) => sum + openDifferences(comparison), 0)
  const isProven = comparisons.every(({ comparedAt, isDoubtful }) => comparedAt !== null && !isDoubtful)
  const times = comparisons.flatMap(({ comparedAt }) => comparedAt?.getTime() ?? [])
  const verifiedAt = open === 0 && isProven && times.length > 0 ? new Date(Math.min(...times)) : null
  await sql`
    update account set
      differs_since = case when ${open > 0} then coalesce(differs_since, clock_timestamp()) end,
      verified_at = coalesce(${verifiedAt}::timestamptz, verified_at),
      runtime_state = case when ${open > 0} and runtime_state = 'live' then 'syncing' else runtime_state end,
      behind_since = case when ${open > 0} then coalesce(behind_since, clock_timestamp()) else behind_since end
    where id = ${accountId}
  `.execute(unit.sql)
  return open
}
