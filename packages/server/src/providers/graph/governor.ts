import type { Urgency } from './api.ts'

/** The calls to one mailbox, as one account makes them. */
export interface MailboxQuota {
  /** Rejects with `throttled` and the seconds until there is room for the calls. Never waits for room. */
  take(calls: number, urgency: Urgency): Promise<void>
  /**
   * Waits for the right to one request under way. Disposing gives it back. Rejects with `unavailable` if the signal ends,
   * and with `throttled` if the wait is too long.
   */
  enter(urgency: Urgency, signal?: AbortSignal): Promise<Disposable>
  /** Records that the provider refused a call for its rate. @returns the seconds after which it may be called again */
  refused(retryAfterSeconds: number | null): number
  /** The seconds that background work takes at least for the calls. */
  secondsFor(calls: number): number
}
