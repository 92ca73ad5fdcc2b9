import type { AccountIntegrity } from '@waxwing/contract/integrity/integrity.ts'
import { type MailboxComparison } from '../../mail/comparisons/rules.ts'
import { stateOf } from './rules.ts'

/** The integrity of an account, by the last comparisons of its mailboxes. */
export function presentIntegrity(
  comparisons: readonly MailboxComparison[],
  verifiedAt: Date | null,
  now: Date,
): AccountIntegrity {
  const sum = (count: (comparison: MailboxComparison) => number) =>
    comparisons.reduce((total, comparison) => total + count(comparison), 0)
  const times = comparisons.map(({ comparedAt }) => comparedAt?.getTime() ?? null)
  const isCompared = times.length > 0 && !times.includes(null)
  return {
    state: stateOf(comparisons, now),
    verifiedAt: verifiedAt?.toISOString() ?? null,
    comparedAt: isCompared ? new Date(Math.min(...times.map(Number))).toISOString() : null,
    missing: sum(({ missing }) => missing),
    extra: sum(({ extra }) => extra),
    changed: sum(({ changed }) => changed),
    repaired: sum(({ repaired }) => repaired),
    mailboxes: comparisons.map(
      ({ comparedAt, isDoubtful: _isDoubtful, stuckHours: _stuckHours, ...counts }) => ({
        ...counts,
        comparedAt: comparedAt?.toISOString() ?? null,
      }),
    ),
  }
}
