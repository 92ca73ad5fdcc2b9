/** A duration after a time (RFC 5545 section 3.3.6). */
export interface Duration {
  /** Days of the calendar, which may have 23 or 25 hours. */
  days: number
  /** Milliseconds that pass after these days. */
  exactMs: number
}

const DURATION = /^\+?P(?:(\d{1,6})W)?(?:(\d{1,6})D)?(?:T(?:(\d{1,8})H)?(?:(\d{1,8})M)?(?:(\d{1,9})S)?)?$/i

/** Reads a duration. Null if the text is none, or is negative. */
export function readDuration(text: string): Duration | null {
  const match = DURATION.exec(text)
  if (!match) return null
  const [weeks = 0, days = 0, hours = 0, minutes = 0, seconds = 0] = match
    .slice(1)
    .map(digits => Number(digits ?? 0))
  return { days: weeks * 7 + days, exactMs: ((hours * 60 + minutes) * 60 + seconds) * 1000 }
}
