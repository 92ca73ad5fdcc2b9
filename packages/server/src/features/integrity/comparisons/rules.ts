import { type Comparison, openDifferences } from '../../mail/comparisons/rules.ts'

export type IntegrityState = 'verified' | 'behind' | 'unverified'

const HOUR_MS = 3_600_000

/** A comparison counts this long: mailboxes are compared once a day, and one may be late. */
export const VERIFIED_HOURS = 26

/**
 * The state of an account, by the last comparisons of all its mailboxes, calendars and contact folders.
 * @param isWhole whether all that is followed of the account has been read once
 */
export function stateOf(
  comparisons: readonly Comparison[],
  { now, isWhole = true }: { now: Date; isWhole?: boolean },
): IntegrityState {
  if (comparisons.some(comparison => openDifferences(comparison) > 0)) return 'behind'
  const isVerified = ({ comparedAt, isDoubtful }: Comparison) =>
    !isDoubtful && comparedAt !== null && now.getTime() - comparedAt.getTime() <= VERIFIED_HOURS * HOUR_MS
  return isWhole && comparisons.length > 0 && comparisons.every(isVerified) ? 'verified' : 'unverified'
}
