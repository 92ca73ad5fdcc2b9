import { firstIdAt } from '../../../kit/ids.ts'
import type { FullAccount } from './unstored.ts'
import type { Walk } from './walk.ts'

/** Interval at which all messages of an account are looked at again, in case some could not be stored. */
const WHOLE_LOOK_MINUTES = 60
/**
 * New mail is what was created since this long before the last look, to cover open transactions and differing clocks.
 */
const OVERLAP_MINUTES = 5
/** Batches of one account stored at once. Each mostly waits for the disk and for the thread that reads words. */
const STORING_AT_ONCE = 3
/** After a batch that could not be stored, the next look at all messages begins no sooner than this. */
const RETRY_SECONDS = 30
/** The pause doubles with each consecutive failure, up to this. */
const RETRY_SECONDS_MAX = 3600

/** Progress of storing the bodies of one account. Kept in memory only, to save queries. */
export interface Stand {
  account: FullAccount
  /** A walk through new mail, which is stored before older mail. Null if there is none. */
  news: Walk | null
  newsAt: number
  /** A walk through all messages. Null after its end, or after a batch that could not be stored. */
  whole: Walk | null
  wholeAt: number
  /** When all messages are looked at again after a batch could not be stored. Null if none failed. */
  retryAt: number | null
  /** The pause after the next failure. */
  retrySeconds: number
  /** The size of a message that exceeded the room in the plan. Storing waits until there is that much room. */
  neededBytes: number
  /** Earlier batches, which are being stored while the next one is fetched. */
  storing: Promise<void>[]
}

/** Decides what to look at now: new mail, and all messages if that is due. `now`: milliseconds since 1970. */
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

/** After a failure, only mail that is newer is tried until the pause is over. A success makes the pause short again. */
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
