/** The time on the clock of the database, between two moments of this process's monotonic clock; in milliseconds. */
export interface ClockReading {
  shown: number
  before: number
  after: number
}

/**
 * Milliseconds by which the clock was set back between two readings, as far as that is certain: an answer may have been
 * on its way for all the time that the process waited for it. Negative if it need not have been.
 */
export function planSetBack(earlier: ClockReading, later: ClockReading): number {
  return earlier.shown - earlier.after - (later.shown - later.before)
}
