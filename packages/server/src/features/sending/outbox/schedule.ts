const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Pauses after the first, second … attempt that failed; the last one repeats. */
const RETRY_PAUSES_MS = [
  MINUTE_MS,
  5 * MINUTE_MS,
  15 * MINUTE_MS,
  HOUR_MS,
  3 * HOUR_MS,
  6 * HOUR_MS,
  12 * HOUR_MS,
  24 * HOUR_MS,
]
/** The last attempt is made this long after the message was due, or after its first attempt if that was later. */
export const LAST_ATTEMPT_HOURS = 48
/** A server that names a longer time is tried again after this one. */
const RETRY_AFTER_HOURS_MAX = 24

/** Days that a send may be scheduled ahead. */
const SCHEDULE_DAYS_MAX = 365
/** Clocks of callers differ: so far in the past still means now. */
const PAST_SECONDS_MAX = 60

/**
 * The time at which a send is due, by the clock of the database: the later of `sendAt` and the end of the time in which
 * it can be undone. A text reports an error of `sendAt`.
 */
export function planSendTime(now: Date, sendAt: Date | null, undoSeconds: number): Date | string {
  const undoneUntil = now.getTime() + undoSeconds * 1_000
  if (sendAt === null) return new Date(undoneUntil)
  const ahead = sendAt.getTime() - now.getTime()
  if (ahead < -PAST_SECONDS_MAX * 1_000) return `must be at most ${PAST_SECONDS_MAX} seconds in the past`
  if (ahead > SCHEDULE_DAYS_MAX * 24 * HOUR_MS) return `must be at most ${SCHEDULE_DAYS_MAX} days ahead`
  return new Date(Math.max(sendAt.getTime(), undoneUntil))
}

export interface Retrying {
  now: Date
  /** The time at which the message was due first. */
  sendAt: Date
  /** The beginning of its first attempt: much later if the service was down. */
  datedAt: Date
  /** Attempts that ended, the last one included. */
  attempts: number
  retryAfterSeconds: number | null
}

/** The time of the next attempt; null if the last one was made. */
export function planRetry({ now, sendAt, datedAt, attempts, retryAfterSeconds }: Retrying): Date | null {
  const lastAt = Math.max(sendAt.getTime(), datedAt.getTime()) + LAST_ATTEMPT_HOURS * HOUR_MS
  if (now.getTime() >= lastAt) return null
  const pause = RETRY_PAUSES_MS[Math.min(attempts, RETRY_PAUSES_MS.length) - 1] ?? MINUTE_MS
  const named = Math.min((retryAfterSeconds ?? 0) * 1_000, RETRY_AFTER_HOURS_MAX * HOUR_MS)
  return new Date(Math.max(Math.min(now.getTime() + pause, lastAt), now.getTime() + named))
}

/** Seconds that an account is held back, by the failures of its server or login in a row. */
export function planPauseSeconds(failuresInRow: number, retryAfterSeconds: number | null): number {
  const pause = RETRY_PAUSES_MS[Math.min(failuresInRow, RETRY_PAUSES_MS.length) - 1] ?? MINUTE_MS
  return Math.max(pause / 1_000, Math.min(retryAfterSeconds ?? 0, RETRY_AFTER_HOURS_MAX * 3_600))
}

/** Seconds after a hand-over with an unknown outcome at which it is looked up. */
const LOOK_UP_SECONDS = [5, 15, 60, 300, 900, 1_800]

/** Seconds until the next look-up, by the number made so far; null if the send stays unknown. */
export function planLookUpSeconds(looks: number): number | null {
  const next = LOOK_UP_SECONDS[looks]
  return next === undefined ? null : next - (LOOK_UP_SECONDS[looks - 1] ?? 0)
}

/** Seconds between two searches for the copy that a server may file by itself. */
const COPY_SEARCH_SECONDS = 5
/** Pauses for a server that was seen to file copies. */
const KNOWN_FILER_SECONDS = [5, 55, 240]

/** Seconds until the copy is searched for again, by the searches so far; null: it is to be filed. */
export function planCopySearchSeconds(searches: number, filesCopies: boolean): number | null {
  const pauses = filesCopies ? KNOWN_FILER_SECONDS : [COPY_SEARCH_SECONDS]
  return pauses[searches - 1] ?? null
}

const TASK_PAUSE_SECONDS_MAX = 3_600

/** Seconds until a failed task is tried again, by its failures so far. */
export function planTaskPauseSeconds(failures: number): number {
  return Math.min(15 * 2 ** Math.min(failures - 1, 10), TASK_PAUSE_SECONDS_MAX)
}
