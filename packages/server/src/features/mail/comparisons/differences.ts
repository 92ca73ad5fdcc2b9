import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { recordCompared } from '../../../accounts/halves/comparison.ts'
import { findComparisons } from './store.ts'
import { openDifferences } from './rules.ts'

/**
 * Updates the account's summary of the comparisons of its mailboxes: since when it differs from its provider, and when
 * it was last found equal. An account that differs is not live.
 * @returns how many differences are open
 */
export async function recordDiffering(unit: UnitOfWork, accountId: string): Promise<number> {
  const comparisons = await findComparisons(unit.sql, accountId)
  const open = comparisons.reduce((sum, comparison) => sum + openDifferences(comparison), 0)
  const isProven = comparisons.every(({ comparedAt, isDoubtful }) => comparedAt !== null && !isDoubtful)
  const times = comparisons.flatMap(({ comparedAt }) => comparedAt?.getTime() ?? [])
  const verifiedAt = open === 0 && isProven && times.length > 0 ? new Date(Math.min(...times)) : null
  await recordCompared(unit, { accountId, kind: 'mail' }, { differs: open > 0, verifiedAt })
  return open
}
