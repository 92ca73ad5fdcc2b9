import { ProviderFailure } from '../failure.ts'

const WINDOW_SECONDS = 60
/** learn.microsoft.com/office365/servicedescriptions/exchange-online-service-description/exchange-online-limits */
const SENDS_PER_WINDOW = 30

/** Spreads the messages of a mailbox, as Exchange allows them: 30 in a minute. */
export class SendPace {
  #times: number[] = []

  /** Throws `throttled` if there is no room, which is not counted as an attempt. @param now milliseconds since 1970 */
  take(now: number): void {
    const windowMs = WINDOW_SECONDS * 1_000
    // A time that is ahead was taken by a clock that was set back since.
    this.#times = this.#times.filter(at => now - at < windowMs && at <= now)
    const [oldest] = this.#times
    if (oldest !== undefined && this.#times.length >= SENDS_PER_WINDOW)
      throw new ProviderFailure('throttled', 'Exchange takes no more messages in this minute.', {
        isBeforeAcceptance: true,
        isBusy: true,
        retryAfterSeconds: Math.max(1, Math.ceil((oldest + windowMs - now) / 1_000)),
      })
    this.#times.push(now)
  }
}
