/** Bytes of a message that are read, from its beginning. An invitation that does not end within them is left alone. */
export const INVITATION_BYTES_MAX = 1024 * 1024
/** Invitations that a process takes side by side, one of each account. */
export const INVITATIONS_AT_ONCE = 4
/** Accounts among which they are picked. */
export const ACCOUNTS_LOOKED_AT = 100
/** Seconds before an invitation that could not be taken is tried again; the last pause repeats. */
export const RETRY_SECONDS: readonly number[] = [10, 60, 300, 900, 3_600]
/** An answer or an end of an event that the index lacks is tried again at least for so long. */
export const EARLY_SECONDS = 120
/** Messages that came to the mailbox longer ago are copies of old mail. */
export const RECEIVED_DAYS_MAX = 30
/** It is given up after this time. A suspension of its tenant does not count: the time begins again at its end. */
export const GIVE_UP_DAYS = 7

/** Seconds until the next attempt, by the attempts made so far. */
export function planRetrySeconds(attempts: number): number {
  return RETRY_SECONDS[Math.min(attempts, RETRY_SECONDS.length) - 1] ?? RETRY_SECONDS[0]!
}
