import { WALL_TIME_END } from '../wall-clock.ts'
import { periodsOf, type PeriodMembers } from './periods.ts'
import type { Rule } from './rule.ts'

/** More members of a series are not given. */
export const MEMBERS_MAX = 10_000
/** More periods of the rules of a series are not looked at. */
export const PERIODS_MAX = 20_000

/** The work that is left for a series. */
export interface Budget {
  /** The periods that may still be looked at, for all rules of the series. */
  periods: number
  /** The members that a rule may give. */
  members: number
}

export interface RuleWalk {
  /** Wall time of DTSTART. */
  start: number
  /** The wall times that are wanted, the second one excluded. */
  from: number
  to: number
  /** Whether DTSTART counts for COUNT if the rule lacks it (RFC 5545 section 3.8.5.3). */
  isStartCounted: boolean
}

/**
 * The wall times that a rule gives, ascending, without UNTIL. The caller sets `to` by that.
 * @returns `isTruncated` if a bound cut the list
 */
export function walkRule(
  rule: Rule,
  walk: RuleWalk,
  budget: Budget,
): { members: number[]; isTruncated: boolean } {
  const { start, from } = walk
  const to = Math.min(walk.to, WALL_TIME_END)
  const periods = periodsOf(rule, start)
  const pick = pickerOf(rule)
  const first = periods.numberOf(start)
  const members: number[] = []
  let remaining = rule.count ?? Number.POSITIVE_INFINITY
  // Members before `from` matter only if they are counted.
  let step = rule.count === null && from > start ? stepUpTo(from) : 0

  function stepUpTo(wallTime: number): number {
    return Math.max(0, Math.floor((periods.numberOf(wallTime) - first) / rule.interval))
  }

  while (remaining > 0) {
    const period = first + step * rule.interval
    if (!(periods.beginOf(period) < to)) break
    if (budget.periods-- <= 0) return { members, isTruncated: true }
    const given = periods.membersOf(period)
    const picked = pick(given)
    const atStart = picked.findFrom(start)
    if (step === 0 && walk.isStartCounted && picked.at(atStart) !== start) remaining--
    const next = Math.max(atStart, picked.findFrom(from))
    remaining -= next - atStart
    for (let index = next; index < picked.length && remaining > 0; index++) {
      const member = picked.at(index)!
      if (member >= to) return { members, isTruncated: false }
      if (members.length === budget.members) return { members, isTruncated: true }
      members.push(member)
      remaining--
    }
    step = given.nextFrom === undefined ? step + 1 : Math.max(step + 1, stepUpTo(given.nextFrom))
  }
  return { members, isTruncated: false }
}

/** Members of a period, of which only those that are asked for are made. */
interface Picked {
  length: number
  at(index: number): number | undefined
  /** The index of the first member at or after a wall time. */
  findFrom(wallTime: number): number
}

/** Applies BYSETPOS to the members of whole periods. */
function pickerOf({ positions }: Rule): (members: PeriodMembers) => Picked {
  /** The picked indexes by the number of members, of which a rule has few. */
  const indexes = new Map<number, readonly number[]>()
  const indexesOf = (size: number) => {
    const known = indexes.get(size)
    if (known) return known
    const found = positions!
      .map(position => (position > 0 ? position - 1 : size + position))
      .filter(index => index >= 0 && index < size)
    const sorted = [...new Set(found)].toSorted((a, b) => a - b)
    indexes.set(size, sorted)
    return sorted
  }
  return ({ days, base, times }) => {
    const size = days.length * times.length
    const chosen = positions && indexesOf(size)
    const length = chosen ? chosen.length : size
    const at = (index: number) => {
      if (index >= length) return undefined
      const place = chosen ? chosen[index]! : index
      return days[Math.floor(place / times.length)]! + base + times[place % times.length]!
    }
    return { length, at, findFrom: wallTime => findFirst(length, index => at(index)! >= wallTime) }
  }
}

/** The first index that passes a test, which all indexes after it pass as well. */
function findFirst(length: number, passes: (index: number) => boolean): number {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (passes(middle)) high = middle
    else low = middle + 1
  }
  return low
}
