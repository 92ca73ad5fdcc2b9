import { Nudge, pause } from '../../../processes/nudge.ts'
import { WokenLoop } from '../../../processes/woken-loop.ts'
import type { Clock } from '../../../kit/clock.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { findStorageRoom } from '../../tenancy/plans/store.ts'
import { addArrived, beginStand, isToLook, settleBatch, type Stand } from './body-storing-stand.ts'
import { type BatchContext, fetchBatch, storeAlone, storeTogether } from './store-batch.ts'
import {
  BATCH_MESSAGES_MAX,
  cutBatch,
  findFullAccount,
  listFullAccounts,
  listUnstored,
  listUnstoredOf,
  type Owned,
  type UnstoredMessage,
} from './unstored.ts'

/** Interval at which accounts with something left to store are looked at, in case the reason is gone. */
const LOOK_SECONDS = 60
const ACCOUNTS_AT_ONCE = 4
/** Batches of one account stored at once. Each mostly waits for the disk and for the thread that reads words. */
const STORING_AT_ONCE = 3
/** Accounts whose settings one statement reads. */
const SETTINGS_AT_ONCE = 50
/** A single failure may be the message's fault; this many in a row are the provider's. */
const FAILURES_MAX = 2

interface BodyStoringContext extends BatchContext {
  clock: Clock
}

/** Signals that an account which this process follows has something to store. No method throws. */
export interface FollowedBodies extends AsyncDisposable {
  /** Called with the ids of messages after they are recorded. Returns at once. */
  onRecorded(messageIds: readonly string[]): void
  /** Called when the settings of the account may have changed. Returns at once. */
  wake(): void
}

interface Followed {
  readonly owned: Owned
  readonly stop: AbortController
  /** Null until it is established that the account stores every message. */
  stand: Stand | null
  /** The last turn. Never rejects. */
  turn: Promise<unknown>
  /** Earlier batches, which are being stored while the next one is fetched. They never reject. */
  storing: Array<Promise<void>>
  /** Time at which the next turn may begin, by `performance.now()`. */
  restsUntil: number
}

/**
 * Stores the source of every indexed message of the accounts that this process follows and whose `bodyStorage` is
 * `full`, in batches that alternate between accounts: new mail first, then all messages, newest first. While the first
 * sync of an account runs, at most half of the time is used for its bodies.
 */
export class BodyStoring implements AsyncDisposable {
  readonly #context: BodyStoringContext
  readonly #followed = new Map<string, Followed>()
  /** Accounts whose settings are to be read. */
  readonly #told = new Set<Followed>()
  /** Accounts with messages to store, in the order of asking. */
  readonly #line = new Set<Followed>()
  readonly #running = new Set<Followed>()
  /** Time of the next look at accounts with something left to store, by `performance.now()`. */
  #lookAt = 0
  /** Ends a wait: a turn has ended, or an account has news. */
  readonly #stirred = new Nudge()
  readonly #loop: WokenLoop

  constructor(context: BodyStoringContext) {
    this.#context = context
    const { log } = context
    const look = (signal: AbortSignal) => this.#look(signal)
    this.#loop = new WokenLoop({ look, failure: 'Bodies cannot be stored', log })
  }

  /**
   * Stores the bodies of an account until the result is disposed, which waits for messages that are being stored.
   * Messages that an earlier owner has left are found.
   */
  follow(owned: Owned): FollowedBodies {
    const before = this.#followed.get(owned.id)
    const followed: Followed = {
      owned,
      stop: new AbortController(),
      stand: null,
      turn: before ? settled(before) : Promise.resolve(),
      storing: Array.from({ length: STORING_AT_ONCE }, () => Promise.resolve()),
      restsUntil: 0,
    }
    this.#followed.set(owned.id, followed)
    this.#tell(followed)
    return {
      onRecorded: messageIds => {
        const { stand } = followed
        // Before the settings are read, the look at all messages is still to come.
        if (!stand) return
        addArrived(stand, messageIds)
        if (isToLook(stand, this.#context.clock.now())) this.#enlist(followed)
      },
      wake: () => this.#tell(followed),
      [Symbol.asyncDispose]: () => this.#end(followed),
    }
  }

  isFollowed(accountId: string): boolean {
    return this.#followed.has(accountId)
  }

  /** Announces that the settings of these accounts may have changed; null means all accounts. Never throws. */
  wake(accountIds: readonly string[] | null): void {
    for (const id of accountIds ?? this.#followed.keys()) {
      const followed = this.#followed.get(id)
      if (followed) this.#tell(followed)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]()
    await Promise.all([...this.#followed.values()].map(followed => this.#end(followed)))
  }

  async #end(followed: Followed): Promise<void> {
    followed.stop.abort()
    for (const set of [this.#told, this.#line]) set.delete(followed)
    await settled(followed)
    const { id } = followed.owned
    if (this.#followed.get(id) === followed) this.#followed.delete(id)
  }

  #tell(followed: Followed): void {
    if (followed.stop.signal.aborted) return
    this.#told.add(followed)
    this.#stir()
  }

  #enlist(followed: Followed): void {
    if (followed.stop.signal.aborted) return
    this.#line.add(followed)
    this.#stir()
  }

  #stir(): void {
    this.#stirred.fire()
    this.#loop.wake()
  }

  /** Gives turns until no account has anything to store now. @returns the seconds until the next look */
  async #look(signal: AbortSignal): Promise<number> {
    while (!signal.aborted) {
      this.#stirred.clear()
      if (performance.now() >= this.#lookAt) this.#lookAround()
      await this.#readSettings()
      this.#giveTurns()
      const resting = [...this.#line].filter(followed => !this.#running.has(followed))
      if (this.#running.size === 0 && resting.length === 0 && this.#told.size === 0) break
      const mayWait = this.#running.size >= ACCOUNTS_AT_ONCE ? [] : resting
      const until = Math.min(this.#lookAt, ...mayWait.map(({ restsUntil }) => restsUntil))
      if (this.#told.size === 0) await pause(until - performance.now(), signal, this.#stirred.signal)
    }
    return Math.max(0, this.#lookAt - performance.now()) / 1_000
  }

  #lookAround(): void {
    this.#lookAt = performance.now() + LOOK_SECONDS * 1_000
    const now = this.#context.clock.now()
    for (const followed of this.#followed.values())
      if (followed.stand && isToLook(followed.stand, now)) this.#line.add(followed)
  }

  /** Reads whether accounts store every message, beginning with the accounts that were signalled first. */
  async #readSettings(): Promise<void> {
    const page = [...this.#told].slice(0, SETTINGS_AT_ONCE)
    if (page.length === 0) return
    // Before they are read, so that a change meanwhile is read again.
    for (const followed of page) this.#told.delete(followed)
    const { db, clock } = this.#context
    try {
      const accounts = await listFullAccounts(
        db,
        page.map(({ owned }) => owned),
      )
      const full = new Map(accounts.map(account => [account.id, account]))
      for (const followed of page) {
        const account = full.get(followed.owned.id)
        followed.stand = account ? beginStand(followed.stand, account, clock.now()) : null
        if (followed.stand && isToLook(followed.stand, clock.now())) this.#enlist(followed)
      }
    } catch (error) {
      for (const followed of page) this.#tell(followed)
      throw error
    }
  }

  /** The next is an account of the tenant with the fewest turns; among equals, the one that has waited longest. */
  #findNext(): Followed | undefined {
    const turns = new Map<string, number>()
    const turnsOf = ({ owned }: Followed) => turns.get(owned.tenantId) ?? 0
    for (const followed of this.#running) turns.set(followed.owned.tenantId, turnsOf(followed) + 1)
    let next: Followed | undefined
    for (const followed of this.#line) {
      if (this.#running.has(followed) || followed.restsUntil > performance.now()) continue
      if (!next || turnsOf(followed) < turnsOf(next)) next = followed
    }
    return next
  }

  #giveTurns(): void {
    while (this.#running.size < ACCOUNTS_AT_ONCE) {
      const followed = this.#findNext()
      if (!followed) return
      this.#line.delete(followed)
      this.#running.add(followed)
      followed.turn = followed.turn
        .then(() => this.#takeTurn(followed))
        .then(() => {
          this.#running.delete(followed)
          this.#stirred.fire()
        })
    }
  }

  /** Never rejects. */
  async #takeTurn(followed: Followed): Promise<void> {
    const { stand, owned, stop } = followed
    if (!stand || stop.signal.aborted) return
    const startedAt = performance.now()
    try {
      const { hasMore, isFirstSync } = await storeNext(this.#context, followed, stand)
      // The first sync and other accounts have as much time before the next batch as this one took.
      if (isFirstSync) followed.restsUntil = 2 * performance.now() - startedAt
      if (hasMore) this.#enlist(followed)
    } catch (error) {
      const { id: accountId, tenantId } = owned
      this.#context.log.warn({ error, accountId, tenantId }, 'Bodies of an account cannot be stored')
    }
  }
}

async function settled({ turn, storing }: Followed): Promise<void> {
  await turn
  await Promise.all(storing)
}

/** Result of a turn. */
interface Outcome {
  /** Whether there is more to store now. */
  hasMore: boolean
  isFirstSync: boolean
}

const NOTHING: Outcome = { hasMore: false, isFirstSync: false }

/** Fetches a batch and stores it, in the background unless the first sync runs. */
async function storeNext(context: BodyStoringContext, followed: Followed, stand: Stand): Promise<Outcome> {
  const found = await findFullAccount(context.db, followed.owned)
  if (!found) return NOTHING
  const { account, isInitialized } = found
  const room = await findRoom(context, followed)
  if (room < stand.neededBytes) return NOTHING
  stand.neededBytes = 0
  const turn: Turn = { context, followed, stand, account, room }
  const mayGoOn = await (stand.arrived.length > 0 ? storeArrived(turn) : storeWalked(turn))
  if (!isInitialized) await Promise.all(followed.storing)
  return { hasMore: mayGoOn && isToLook(stand, context.clock.now()), isFirstSync: !isInitialized }
}

interface Turn {
  context: BodyStoringContext
  followed: Followed
  stand: Stand
  account: AccountView
  /** Bytes that the plan allows to store. */
  room: number
}

/** Stores messages that were recorded just now. @returns whether to go on now */
async function storeArrived(turn: Turn): Promise<boolean> {
  const { context, stand, account, room } = turn
  let ids = stand.arrived.splice(0, BATCH_MESSAGES_MAX)
  try {
    const found = await listUnstoredOf(context.db, account.id, ids)
    const batch = cutBatch(found, room)
    if (lacksRoom(turn, found, batch)) return false
    const isDone = await storeBatch(turn, batch, ({ id }) => (ids = ids.slice(ids.indexOf(id) + 1)))
    if (isDone && batch.length === found.length) ids = []
    if (ids.length === 0 && stand.arrived.length === 0) logLook(turn, 'new')
    return isDone
  } finally {
    stand.arrived.unshift(...ids)
  }
}

/** Stores the next messages of the walk through all. @returns whether to go on now */
async function storeWalked(turn: Turn): Promise<boolean> {
  const { context, followed, stand, account, room } = turn
  const walk = stand.whole
  if (!walk) return false
  // A walk that begins would find, and fetch again, messages that are being stored.
  if (walk.below === null) await Promise.all(followed.storing)
  const { found, end } = await listUnstored(context.db, account.id, walk.below)
  const batch = cutBatch(found, room)
  if (lacksRoom(turn, found, batch)) {
    walk.below = null
    return false
  }
  const goOnBelow = ({ received_at: receivedAt, id }: UnstoredMessage) => (walk.below = { receivedAt, id })
  if (!(await storeBatch(turn, batch, goOnBelow))) return false
  if (batch.length < found.length) return true
  if (end) walk.below = end
  else {
    logLook(turn, 'all')
    if (stand.whole === walk) stand.whole = null
  }
  return true
}

function logLook({ context, account }: Turn, kind: 'new' | 'all'): void {
  context.log.debug({ accountId: account.id, kind }, 'Looked for bodies to store')
}

/** Whether the plan has no room for the first message. */
function lacksRoom(
  { context, stand, account }: Turn,
  [first]: readonly UnstoredMessage[],
  batch: readonly UnstoredMessage[],
): boolean {
  if (!first || batch.length > 0) return false
  const { tenant_id: tenantId, id: accountId } = account
  context.log.info({ tenantId, accountId }, 'Bodies are no longer stored: the plan has no room for more')
  stand.neededBytes = first.size ?? 0
  return true
}

/**
 * Fetches a batch while earlier ones are stored. Returns false if the provider or the storage is in trouble.
 * @param onTried called with a message when it and all before it were tried, with or without success
 */
async function storeBatch(
  { context, followed, stand, account }: Turn,
  batch: readonly UnstoredMessage[],
  onTried: (message: UnstoredMessage) => void,
): Promise<boolean> {
  const { storing, stop } = followed
  const { signal } = stop
  const { sources, left, isThrottled } = await fetchBatch(context, account, batch, signal)
  if (sources.length > 0) {
    await storing.shift()
    storing.push(
      storeTogether(context, account, sources)
        .catch((error: unknown) => {
          context.log.warn({ error, accountId: account.id }, 'Bodies could not be stored')
          return false
        })
        .then(isStored => settleBatch(stand, isStored, context.clock.now())),
    )
  }
  if (isThrottled) return false
  let failures = 0
  for (const message of left) {
    if (signal.aborted) return false
    // A later look at all messages tries it again.
    onTried(message)
    const outcome = await storeAlone(context, account, message, signal)
    if (outcome === 'failed') {
      context.log.warn({ accountId: account.id }, 'Bodies could not be stored')
      settleBatch(stand, false, context.clock.now())
      return false
    }
    if (outcome === 'stored') settleBatch(stand, true, context.clock.now())
    failures = outcome === 'unreachable' ? failures + 1 : 0
    if (failures === FAILURES_MAX) return false
  }
  const last = batch.at(-1)
  if (last) onTried(last)
  return true
}

/** If the plan has a limit, waits for the batches being stored, since they use some of the room. */
async function findRoom({ db }: BatchContext, { owned, storing }: Followed): Promise<number> {
  const room = await findStorageRoom(db, owned.tenantId)
  if (room === Infinity) return room
  await Promise.all(storing)
  return findStorageRoom(db, owned.tenantId)
}
