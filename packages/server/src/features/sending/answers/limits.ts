/** Bytes of an answer that are read, from its beginning, where programs write their reports. */
export const ANSWER_BYTES_MAX = 1024 * 1024
/** Answers that a process looks at side by side, one of each account. */
export const ANSWERS_AT_ONCE = 4
/** Accounts among which they are picked. */
export const ACCOUNTS_LOOKED_AT = 100
/** Seconds before an answer that could not be read is tried again; the last pause repeats. */
export const RETRY_SECONDS: readonly number[] = [10, 60, 300, 900, 3_600, 14_400]
/** Seconds until an attempt that waits for a change of its account is made in any case. */
export const HURRIED_SECONDS = 60
/** It is given up after this time. A suspension of its tenant does not count: the time begins again at its end. */
export const GIVE_UP_DAYS = 14

/** Seconds until the next attempt, by the attempts made so far. */
export function planRetrySeconds(attempts: number): number {
  return RETRY_SECONDS[Math.min(attempts, RETRY_SECONDS.length) - 1] ?? RETRY_SECONDS[0]!
}
