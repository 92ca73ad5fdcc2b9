import { DAY_MS } from '../wall-clock.ts'

/** The offsets of a zone. All numbers are in milliseconds. */
export interface Transitions {
  /** Instants at which the offset changes, ascending. */
  at: readonly number[]
  /** Offsets from UTC: the first one before all transitions, then one from each transition on. */
  offsets: readonly number[]
}

/** The offset at an instant. */
export function offsetAt({ at, offsets }: Transitions, instant: number): number {
  return offsets[countUpTo(at, instant)]!
}

/**
 * The instant of a wall time. A wall time that does not exist moves forward by the gap; of one that occurs twice it is the
 * first (RFC 5545 section 3.3.5).
 */
export function instantOf({ at, offsets }: Transitions, wallTime: number): number {
  // No offset exceeds a day, so the search begins before the transitions that may matter.
  let index = countUpTo(at, wallTime - DAY_MS)
  while (index < at.length && wallTime >= at[index]! + offsets[index]!) index++
  const isInGap = index > 0 && wallTime < at[index - 1]! + offsets[index]!
  return wallTime - offsets[isInGap ? index - 1 : index]!
}

/** The number of values up to a limit, which is included. */
function countUpTo(ascending: readonly number[], limit: number): number {
  let low = 0
  let high = ascending.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ascending[middle]! <= limit) low = middle + 1
    else high = middle
  }
  return low
}
