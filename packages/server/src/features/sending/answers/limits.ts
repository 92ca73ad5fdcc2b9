/** Bytes of an answer that are read, from its beginning: what programs report stands there. */
export const ANSWER_BYTES_MAX = 1024 * 1024
/** Answers that a process looks at side by side, one of each account. */
export const ANSWERS_AT_ONCE = 4
/** Accounts among which they are picked. */
export const ACCOUNTS_LOOKED_AT = 100
/** Seconds before an answer that could not be read is tried again; the last pause repeats. */
export const RETRY_SECONDS: readonly number[] = [10, 60, 300, 900, 3_600, 14_400]
/** Where its account changes, it is tried again after this time at the latest. */
export const HURRIED_SECONDS = 60
/** It is given up after this time. */
export const GIVE_UP_DAYS = 14

/** Seconds until the next attempt after so many. */
export function planRetrySeconds(attempts: number): number {
  return RETRY_SECONDS[Math.min(attempts, RETRY_SECONDS.length) - 1] ?? RETRY_SECONDS[0]!
}
