/** Numbered changes, oldest first. */
export interface NumberedLog<Change> {
  readonly changes: Change[]
  /** Changes up to this number are forgotten. */
  floor: number
}

interface Numbered {
  /** Number in the mailbox, which grows with each change. */
  readonly number: number
}

/** A log forgets its oldest changes beyond twice this number. */
const CHANGES_KEPT = 100_000

export const newChangeLog = <Change>(): NumberedLog<Change> => ({ changes: [], floor: 0 })

export function recordChange<Change extends Numbered>(log: NumberedLog<Change>, change: Change): void {
  log.changes.push(change)
  if (log.changes.length <= 2 * CHANGES_KEPT) return
  const forgotten = log.changes.splice(0, log.changes.length - CHANGES_KEPT)
  log.floor = forgotten.at(-1)?.number ?? log.floor
}

/** The changes after a number, oldest first; null if the log has forgotten some of them. */
export function changesAfter<Change extends Numbered>(
  log: NumberedLog<Change>,
  number: number,
): Change[] | null {
  if (number < log.floor) return null
  let low = 0
  let high = log.changes.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((log.changes[middle] as Change).number <= number) low = middle + 1
    else high = middle
  }
  return log.changes.slice(low)
}
