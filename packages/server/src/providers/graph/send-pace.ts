import { ProviderFailure } from '../failure.ts'
import type { SharedUse } from '../http/shared-use.ts'
import type { Window } from '../http/usage.ts'

export const SENDS_WINDOW: Window = { seconds: 60, bucketSeconds: 1 }
/** learn.microsoft.com/office365/servicedescriptions/exchange-online-service-description/exchange-online-limits */
const SENDS_MAX = 30

/** Keeps the messages that a mailbox sends within the number that Exchange takes in a minute. */
export interface SendPace {
  /**
   * Counts a message. Rejects with `throttled` and the seconds until there is room for it, which is not counted as an
   * attempt.
   */
  take(): Promise<void>
}

/** The pace of a mailbox over all accounts, apps and processes. @param use counts within `SENDS_WINDOW` */
export function sendPaceOf(mailbox: string, use: SharedUse): SendPace {
  const quota = { name: `graph sends ${mailbox}`, unitsMax: SENDS_MAX, usedUnits: 0 }
  return {
    async take() {
      const waitMs = await use.take([quota], 1, true)
      if (waitMs === 0) return
      throw new ProviderFailure('throttled', 'Exchange takes no more messages in this minute.', {
        isBeforeAcceptance: true,
        isBusy: true,
        retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1_000)),
      })
    },
  }
}

export const UNPACED: SendPace = { take: () => Promise.resolve() }
