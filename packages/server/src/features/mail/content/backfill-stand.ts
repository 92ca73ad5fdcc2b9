import { firstIdAt } from '../../../kit/ids.ts'
import type { FullAccount } from './unstored.ts'
import type { Walk } from './walk.ts'

/** So often all messages of an account are looked at again, in case some could not be stored. */
const WHOLE_LOOK_MINUTES = 60
/** News are the messages made since the last look, and so long before: for transactions under way and clocks apart. */
const OVERLAP_MINUTES = 5
/** Batches of one account: each waits for the disk and the thread that reads words, and seldom for the processor. */
const STORING_AT_ONCE = 3
/** After a batch that could not be stored, the account's next look begins anew, no sooner than that. */
const RETRY_SECONDS = 30
/** The pause doubles with each failure that follows upon another, up to this. */
const RETRY_SECONDS_MAX = 3600

/** Where an account stands. Kept in memory only: it saves queries. */
export interface Stand {
  account: FullAccount
  /** New mail, stored before what is older; null: none is known of. */
  news: Walk | null
  newsAt: number
  /** Null once it came to the end, or to a batch that could not be stored. */
  whole: Walk | null
  wholeAt: number
  /** When the whole is begun anew since a batch could not be stored; null: none failed. */
  retryAt: number | null
  /** How long the next failure is waited after. */
  retrySeconds: number
  /** The size of a message that the plan had no room for: it waits for so much. */
  neededBytes: number
  /** The batches before, on their way to disk and database while the next one is fetched. */
  storing: Promise<void>[]
}

/** What is to be looked at now: new mail, and the whole where that is due. `now`: milliseconds since 1970. */
export function beginLook(before: Stand | undefined, account: FullAccount, now: number): Stand {
  if (before?.account.version !== account.version) {
    return {
      account,
      news: null,
      newsAt: now,
      whole: { since: null, below: null },
      wholeAt: now,
      retryAt: null,
      retrySeconds: RETRY_SECONDS,
      neededBytes: 0,
      storing: before?.storing ?? Array.from({ length: STORING_AT_ONCE }, () => Promise.resolve()),
    }
  }
  const since = before.news?.since ?? firstIdAt(before.newsAt - OVERLAP_MINUTES * 60_000)
  const isStale = before.whole === null && now - before.wholeAt > WHOLE_LOOK_MINUTES * 60_000
  const isDue = before.retryAt !== null && now >= before.retryAt
  if (isStale || isDue)
    Object.assign(before, { whole: { since: null, below: null }, wholeAt: now, retryAt: null })
  return Object.assign(before, { news: { since, below: null }, newsAt: now })
}

/** After a failure only mail that is new then is tried, until the pause is over; what is stored makes it short again. */
export function settleBatch(stand: Stand, isStored: boolean, now: number): void {
  if (isStored) {
    stand.retrySeconds = RETRY_SECONDS
    if (stand.retryAt !== null) stand.retryAt = Math.min(stand.retryAt, now + RETRY_SECONDS * 1000)
    return
  }
  stand.news = null
  stand.whole = null
  if (stand.retryAt !== null) return
  stand.retryAt = now + stand.retrySeconds * 1000
  stand.retrySeconds = Math.min(2 * stand.retrySeconds, RETRY_SECONDS_MAX)
}
