import type { FullAccount } from './unstored.ts'
import type { WalkPlace } from './walk.ts'

/** Interval at which all messages of an account are looked at again, in case some could not be stored. */
const WHOLE_LOOK_MINUTES = 60
/** After a batch that could not be stored, the next look at all messages begins no sooner than this. */
const RETRY_SECONDS = 30
/** The pause doubles with each consecutive failure, up to this. */
const RETRY_SECONDS_MAX = 3600
/** New messages whose ids are kept, about 70 KB for an account. Any others are found by a look at all messages. */
export const ARRIVED_MAX = 1_000

/** Progress of storing the bodies of one account. Kept in memory only: the rows show which bodies are left to store. */
export interface Stand {
  version: FullAccount['version']
  /** Ids of messages that were recorded and not looked at yet. They come before all others, the first one first. */
  arrived: string[]
  /** Whether more messages arrived than are kept in the list. */
  isBehind: boolean
  /** A walk through all messages. Null after its end, or after a batch that could not be stored. */
  whole: { below: WalkPlace | null } | null
  /** Time at which the walk began. */
  wholeAt: number
  /** Time at which all messages are looked at again after a batch could not be stored. Null if none failed. */
  retryAt: number | null
  /** The pause after the next failure. */
  retrySeconds: number
  /** The size of a message that exceeded the room in the plan. Storing waits until there is that much room. */
  neededBytes: number
}

/**
 * The progress of an account whose settings were just read. If they have changed, all of its messages are looked at.
 * `now`: milliseconds since 1970.
 */
export function beginStand(before: Stand | null, { version }: FullAccount, now: number): Stand {
  if (before?.version === version) return before
  return {
    version,
    arrived: [],
    isBehind: false,
    whole: { below: null },
    wholeAt: now,
    retryAt: null,
    retrySeconds: RETRY_SECONDS,
    neededBytes: before?.neededBytes ?? 0,
  }
}

/** Takes down messages that were recorded. */
export function addArrived(stand: Stand, messageIds: readonly string[]): void {
  // There may be more: a turn gives back messages that it could not store.
  const room = Math.max(0, ARRIVED_MAX - stand.arrived.length)
  stand.arrived.push(...messageIds.slice(0, room))
  if (messageIds.length > room) stand.isBehind = true
}

/** Begins a look at all messages if that is due. @returns whether there is anything to look at now */
export function isToLook(stand: Stand, now: number): boolean {
  const isEmpty = stand.arrived.length === 0 && stand.whole === null
  const isStale = stand.whole === null && now - stand.wholeAt > WHOLE_LOOK_MINUTES * 60_000
  const isDue = stand.retryAt !== null && now >= stand.retryAt
  // After a failure, the look that is due then finds the ids that were not kept.
  const isLeft = isEmpty && stand.isBehind && stand.retryAt === null
  if (isStale || isDue || isLeft)
    Object.assign(stand, {
      arrived: [],
      isBehind: false,
      whole: { below: null },
      wholeAt: now,
      retryAt: null,
    })
  return stand.arrived.length > 0 || stand.whole !== null
}

/** After a failure, only newer mail is tried until the pause is over. A success makes the pause short again. */
export function settleBatch(stand: Stand, isStored: boolean, now: number): void {
  if (isStored) {
    stand.retrySeconds = RETRY_SECONDS
    if (stand.retryAt !== null) stand.retryAt = Math.min(stand.retryAt, now + RETRY_SECONDS * 1000)
    return
  }
  stand.arrived = []
  stand.whole = null
  if (stand.retryAt !== null) return
  stand.retryAt = now + stand.retrySeconds * 1000
  stand.retrySeconds = Math.min(2 * stand.retrySeconds, RETRY_SECONDS_MAX)
}
