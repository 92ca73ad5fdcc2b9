/* Ranges of time in milliseconds since 1970. The end does not belong to a range. */

export interface TimeRange {
  start: number
  end: number
}

/** A time at which an account or an attendee is busy. */
export interface BusyTime extends TimeRange {
  /** The single, exception or occurrence that takes place then. Null: unknown. */
  eventId: string | null
}

/**
 * Merges ranges that overlap or touch. Empty ranges are left out.
 * @param ranges in the order of their starts
 */
export function mergeRanges(ranges: Iterable<TimeRange>): TimeRange[] {
  const merged: TimeRange[] = []
  let last: TimeRange | null = null
  for (const { start, end } of ranges) {
    if (end <= start) continue
    if (last !== null && start <= last.end) last.end = Math.max(last.end, end)
    else merged.push((last = { start, end }))
  }
  return merged
}

/** The parts of ranges that lie in another range. */
export function clipRanges(ranges: readonly TimeRange[], { start, end }: TimeRange): TimeRange[] {
  return ranges
    .filter(each => each.start < end && each.end > start)
    .map(each => ({ start: Math.max(each.start, start), end: Math.min(each.end, end) }))
}
