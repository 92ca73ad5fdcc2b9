import type { ClaimedDelivery } from './claims.ts'
import type { EndedAttempt } from './rules.ts'

/**
 * An attempt that has ended, with the fields that its log shows. Times are milliseconds since 1970, by the database's
 * clock.
 */
export interface AttemptResult extends EndedAttempt {
  /** Ascends with the beginnings of attempts. */
  id: string
  delivery: ClaimedDelivery
  responseExcerpt: string | null
  durationMilliseconds: number
  startedAt: number
}
