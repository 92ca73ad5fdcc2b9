/**
 * The number of messages of a mailbox that its provider listed, the number in the index, and the numbers of
 * differences.
 */
export interface ComparedCounts {
  listed: number
  indexed: number
  /** Messages that were listed and are not in the index. */
  missing: number
  /** Messages in the index that were not listed. */
  extra: number
  /** Messages in both, with other flags. */
  changed: number
}

/** The last comparison of a mailbox. */
export interface MailboxComparison extends Comparison {
  mailboxId: string
}

/** The last comparison of a source with its provider; `comparedAt` is null before the first one. */
export interface Comparison extends ComparedCounts {
  comparedAt: Date | null
  repaired: number
  /** Hours until the next comparison after repairs that did not help; 0 if they did. */
  stuckHours: number
  /**
   * It is not known whether it is equal: the provider contradicted itself, left questions unanswered, or may have
   * given numbers of messages again.
   */
  isDoubtful: boolean
}

/** A mailbox is compared again after 22 to 24 hours, so that comparisons spread over the day. */
const AGAIN_HOURS = { min: 22, max: 24 }
/** Differences that repairs do not reduce are looked at again after these times, each twice as long as the one before. */
const STUCK_HOURS = { min: 1, max: 24 }

export const openDifferences = ({ missing, extra, changed }: ComparedCounts) => missing + extra + changed

/** Sums up the comparisons of all sources: their open differences, and when all were last found equal, if they are. */
export function summarize(comparisons: readonly Comparison[]): {
  openCount: number
  verifiedAt: Date | null
} {
  const openCount = comparisons.reduce((sum, comparison) => sum + openDifferences(comparison), 0)
  const isProven = comparisons.every(({ comparedAt, isDoubtful }) => comparedAt !== null && !isDoubtful)
  const times = comparisons.flatMap(({ comparedAt }) => comparedAt?.getTime() ?? [])
  const isVerified = openCount === 0 && isProven && times.length > 0
  return { openCount, verifiedAt: isVerified ? new Date(Math.min(...times)) : null }
}

export interface ComparisonPlan {
  repaired: number
  dueInSeconds: number
  stuckHours: number
}

/**
 * Plans the result of a comparison besides its counts. Differences that an earlier comparison found, and this one did
 * not, are repaired. While repairs help, the mailbox is compared again at once.
 * @param random from 0 to 1
 */
export function planComparison(
  before: (ComparedCounts & Pick<MailboxComparison, 'repaired' | 'stuckHours'>) | null,
  found: ComparedCounts,
  random: number,
): ComparisonPlan {
  const openBefore = before ? openDifferences(before) : 0
  const open = openDifferences(found)
  const repaired = before && openBefore > 0 ? before.repaired + Math.max(0, openBefore - open) : 0
  if (open === 0) {
    const hours = AGAIN_HOURS.min + random * (AGAIN_HOURS.max - AGAIN_HOURS.min)
    return { repaired, dueInSeconds: hours * 3600, stuckHours: 0 }
  }
  const isStuck = openBefore > 0 && open >= openBefore
  const doubled = Math.min(STUCK_HOURS.max, Math.max(STUCK_HOURS.min, 2 * (before?.stuckHours ?? 0)))
  const stuckHours = isStuck ? doubled : 0
  return { repaired, dueInSeconds: stuckHours * 3600, stuckHours }
}
