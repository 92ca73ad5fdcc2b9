/** Days that are answered if the request names none. */
const DEFAULT_DAYS = 30
/** The longest range. */
const RANGE_DAYS_MAX = 366
const DAY_MILLISECONDS = 86_400_000

/** The number of a day in UTC, counted from 1970. */
export const dayOf = (date: string): number => Date.parse(date) / DAY_MILLISECONDS

const dateOf = (day: number): string => new Date(day * DAY_MILLISECONDS).toISOString().slice(0, 10)

/** Days in UTC, as `YYYY-MM-DD`. Both are included. */
export interface Range {
  from: string
  to: string
}

/**
 * The range that a request asks for, without days that are kept no longer, or are yet to come. `invalid` if it is
 * reversed or too long; null if nothing is left of it.
 */
export function planRange(
  asked: { from?: string | undefined; to?: string | undefined },
  { today, keptDays }: { today: string; keptDays: number },
): Range | 'invalid' | null {
  const last = dayOf(today)
  const to = asked.to === undefined ? last : dayOf(asked.to)
  const from = asked.from === undefined ? to - DEFAULT_DAYS + 1 : dayOf(asked.from)
  if (from > to || to - from >= RANGE_DAYS_MAX) return 'invalid'
  // The counts of a process may be ahead of the database's day by the difference of their clocks.
  const kept = { from: Math.max(from, last - keptDays + 1), to: Math.min(to, last + 1) }
  return kept.from > kept.to ? null : { from: dateOf(kept.from), to: dateOf(kept.to) }
}
