import { runAlone } from '../../../database/alone.ts'
import { Nudge, pause } from '../../../jobs/nudge.ts'
import { WokenLoop } from '../../../jobs/woken-loop.ts'
import type { Clock } from '../../../kit/clock.ts'
import type { AccountView } from '../../accounts/accounts/account.ts'
import { findStorageRoom } from '../../tenancy/plans/store.ts'
import { beginLook, settleBatch, type Stand } from './body-storing-stand.ts'
import { type BatchContext, fetchBatch, storeAlone, storeTogether } from './store-batch.ts'
import {
  cutBatch,
  findFullAccount,
  listFullAccounts,
  listUnstored,
  type UnstoredMessage,
} from './unstored.ts'
import type { Walk } from './walk.ts'

/** Interval at which every account is looked at. In between, only accounts with news are. */
const LOOK_SECONDS = 60
const ACCOUNTS_AT_ONCE = 4
/** A single failure may be the message's fault; this many in a row are the provider's. */
const FAILURES_MAX = 2

interface BodyStoringContext extends BatchContext {
  clock: Clock
}

/**
 * Stores the source of every indexed message of the accounts whose `bodyStorage` is `full`, newest first, in batches
 * that alternate between accounts. Runs in one process of the installation at a time.
 */
export class BodyStoring implements AsyncDisposable {
  readonly #context: BodyStoringContext
  readonly #stands = new Map<string, Stand>()
  /** Accounts with messages to store, first come, first served. */
  readonly #line = new Set<string>()
  readonly #told = new Set<string>()
  /** When to look at every account, by `performance.now()`. */
  #lookAt = 0
  /** Ends a wait for running batches: one has ended, or an account has news. */
  readonly #stirred = new Nudge()
  readonly #loop: WokenLoop

  constructor(context: BodyStoringContext) {
    this.#context = context
    const { log } = context
    const look = (signal: AbortSignal) => this.#look(signal)
    this.#loop = new WokenLoop({ look, failure: 'Bodies cannot be stored', log })
  }

  /**
   * Announces that these accounts may have messages to store; null means all accounts. Returns at once and never
   * throws.
   */
  wake(accountIds: readonly string[] | null): void {
    if (accountIds === null) this.#lookAt = 0
    else for (const id of accountIds) this.#told.add(id)
    this.#stirred.fire()
    this.#loop.wake()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#loop[Symbol.asyncDispose]()
  }

  async #look(signal: AbortSignal): Promise<number> {
    try {
      const isDone = await runAlone(this.#context.db, 'store_bodies', () => this.#storeAll(signal))
      // Another process is running it, and was woken too.
      if (!isDone) this.#rest(LOOK_SECONDS)
    } catch (error) {
      // Wakes may have been lost, so the next look is at every account.
      this.#rest(0)
      throw error
    }
    return Math.max(0, this.#lookAt - performance.now()) / 1_000
  }

  #rest(seconds: number): void {
    this.#told.clear()
    this.#line.clear()
    this.#lookAt = performance.now() + seconds * 1_000
  }

  /** Stores batches until every account has come to its end. */
  async #storeAll(signal: AbortSignal): Promise<void> {
    const running = new Map<string, Promise<void>>()
    try {
      while (!signal.aborted) {
        this.#stirred.clear()
        await this.#enlist()
        for (const id of this.#line) {
          if (running.size >= ACCOUNTS_AT_ONCE) break
          const stand = this.#stands.get(id)
          if (running.has(id)) continue
          this.#line.delete(id)
          if (!stand) continue
          const turn = this.#giveTurn(stand, signal).finally(() => {
            running.delete(id)
            this.#stirred.fire()
          })
          running.set(id, turn)
        }
        if (running.size === 0) return
        await pause(this.#lookAt - performance.now(), signal, this.#stirred.signal)
      }
    } finally {
      await Promise.all(running.values())
      await Promise.all([...this.#stands.values()].flatMap(({ storing }) => storing))
    }
  }

  /** Queues the accounts that were announced, or all of them if that is due. */
  async #enlist(): Promise<void> {
    const isDue = performance.now() >= this.#lookAt
    if (!isDue && this.#told.size === 0) return
    const told = isDue ? null : [...this.#told]
    this.#told.clear()
    if (isDue) this.#lookAt = performance.now() + LOOK_SECONDS * 1000
    const { db, clock } = this.#context
    const accounts = await listFullAccounts(db, told)
    for (const account of accounts) {
      this.#stands.set(account.id, beginLook(this.#stands.get(account.id), account, clock.now()))
      this.#line.add(account.id)
    }
    if (!isDue) return
    const full = new Set(accounts.map(({ id }) => id))
    for (const id of this.#stands.keys()) if (!full.has(id)) this.#stands.delete(id)
  }

  async #giveTurn(stand: Stand, signal: AbortSignal): Promise<void> {
    const { id: accountId, tenant_id: tenantId } = stand.account
    try {
      const hasMore = await takeTurn(this.#context, stand, signal)
      if (hasMore) this.#line.add(accountId)
    } catch (error) {
      this.#context.log.warn({ error, accountId, tenantId }, 'Bodies of an account cannot be stored')
    }
  }
}

/** Fetches a batch and stores it in the background. @returns whether there is more to do now */
async function takeTurn(context: BodyStoringContext, stand: Stand, signal: AbortSignal): Promise<boolean> {
  const account = await findFullAccount(context.db, stand.account)
  const look = stand.news ?? stand.whole
  if (!account || !look) return false
  const room = await findRoom(context, stand)
  if (room < stand.neededBytes) return false
  stand.neededBytes = 0

  const { found: listed, end } = await listUnstored(context.db, account.id, look)
  const batch = cutBatch(listed, room)
  const [first] = listed
  if (first && batch.length === 0) {
    const { tenant_id: tenantId, id: accountId } = account
    context.log.info({ tenantId, accountId }, 'Bodies are no longer stored: the plan has no room for more')
    stand.neededBytes = first.size ?? 0
    look.below = null
    return false
  }
  if (!(await storeBatch(context, account, { stand, look, batch, signal }))) return false
  if (batch.length < listed.length) return true
  if (end) look.below = end
  else {
    const kind = look.since === null ? 'all' : 'new'
    context.log.debug({ accountId: account.id, kind }, 'Looked for bodies to store')
    if (stand.news === look) stand.news = null
    else if (stand.whole === look) stand.whole = null
  }
  return stand.news !== null || stand.whole !== null
}

interface Turn {
  stand: Stand
  look: Walk
  batch: readonly UnstoredMessage[]
  signal: AbortSignal
}

/** Fetches a batch while earlier ones are stored. Returns false if the provider or the storage is in trouble. */
async function storeBatch(
  context: BodyStoringContext,
  account: AccountView,
  { stand, look, batch, signal }: Turn,
): Promise<boolean> {
  const { sources, left, isThrottled } = await fetchBatch(context, account, batch, signal)
  if (sources.length > 0) {
    await stand.storing.shift()
    stand.storing.push(
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
    // Continues below this message whatever its outcome. A later look at all messages tries it again.
    look.below = { receivedAt: message.received_at, id: message.id }
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
  if (last) look.below = { receivedAt: last.received_at, id: last.id }
  return true
}

/** If the plan has a limit, waits for the batches being stored, since they use some of the room. */
async function findRoom({ db }: BatchContext, stand: Stand): Promise<number> {
  const room = await findStorageRoom(db, stand.account.tenant_id)
  if (room === Infinity) return room
  await Promise.all(stand.storing)
  return findStorageRoom(db, stand.account.tenant_id)
}
