import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { recordCompared } from '../../../accounts/halves/comparison.ts'
import { findComparisons } from './store.ts'
import { summarize } from './rules.ts'

/**
 * Updates the account's summary of the comparisons of its mailboxes: since when it differs from its provider, and when
 * it was last found equal. An account that differs is not live.
 * @returns how many differences are open
 */
export async function recordDiffering(unit: UnitOfWork, accountId: string): Promise<number> {
  const comparisons = await findComparisons(unit.sql, accountId)
  const { openCount, verifiedAt } = summarize(comparisons)
  await recordCompared(unit, { accountId, kind: 'mail' }, { differs: openCount > 0, verifiedAt })
  return openCount
}
