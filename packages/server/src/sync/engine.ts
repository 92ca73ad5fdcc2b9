import type { Db } from '../database/pool.ts'
import type { Logger } from '../kit/log.ts'
import type { ConnectorOf } from '../connections/connections.ts'
import type { Instance } from '../jobs/instance.ts'
import type { Lease } from '../jobs/lease.ts'
import type { Follower } from './follower.ts'
import { Keeper, type KeeperOptions } from './keeper.ts'
import { unlessAborted } from '../jobs/nudge.ts'
import { WokenLoop } from '../jobs/woken-loop.ts'
import { DEFAULT_REFUSAL_SECONDS } from './login-refusals.ts'
import {
  claimAccounts,
  FenceLost,
  findAttention,
  FIRST_ID,
  listOwned,
  type OwnedAccount,
  RELEASED_AT_ONCE,
  releaseAccounts,
  releaseOfDead,
  takeWanted,
} from './ownership.ts'
import { Turns } from './turns.ts'

const CLAIM_INTERVAL_MS = 3_000
const CLAIM_AT_ONCE = 50
/** Accounts checked with each claim, of those that the tables assign to this process. They take about 10 ms. */
const CHECK_AT_ONCE = 5_000
/** A process whose looks take longer, or have failed for longer, is not ready. */
const LOOK_SECONDS_MAX = 15
/** Wakes save time; this poll is the guarantee. */
const ATTENTION_SECONDS = 1
const HEAVY_PASSES_AT_ONCE = 4
const DEFAULT_POLL_SECONDS = 45
const DEFAULT_STALL_SECONDS = 120

export interface SyncOptions {
  db: Db
  instance: Instance
  connectorOf: ConnectorOf
  follower: Follower
  log: Logger
  pollSeconds?: number
  stallSeconds?: number
  refusalSeconds?: number
}

/**
 * The sync role: owns accounts as long as this process lives, and keeps each in sync. When the lease lapses, it lets go
 * of all of them at once, waits for the next lease, and claims what has no owner.
 */
export class SyncEngine implements AsyncDisposable {
  readonly #options: SyncOptions
  readonly #keeperOptions: Omit<KeeperOptions, 'lease'>
  readonly #keepers = new Map<string, Keeper>()
  /** Keepers that were told to stop and have not ended yet. */
  readonly #ending = new Set<Keeper>()
  readonly #loop: WokenLoop
  /** The lease that the keepers rely on. */
  #lease: Lease | null = null
  #claimedAt = Number.NEGATIVE_INFINITY
  #recoveredAt = Number.NEGATIVE_INFINITY
  #lookedAt = Number.NEGATIVE_INFINITY
  /** Accounts up to this id, if the tables assign them to this process, are known to be followed. */
  #checkedUpTo = FIRST_ID

  private constructor(options: SyncOptions) {
    this.#options = options
    this.#keeperOptions = {
      db: options.db,
      connectorOf: options.connectorOf,
      turns: new Turns(HEAVY_PASSES_AT_ONCE),
      follower: options.follower,
      log: options.log,
      pollSeconds: options.pollSeconds ?? DEFAULT_POLL_SECONDS,
      stallSeconds: options.stallSeconds ?? DEFAULT_STALL_SECONDS,
      refusalSeconds: options.refusalSeconds ?? DEFAULT_REFUSAL_SECONDS,
    }
    this.#loop = new WokenLoop({
      look: signal => this.#look(signal),
      failure: 'Could not look for accounts',
      log: options.log,
      retrySecondsMax: ATTENTION_SECONDS,
    })
  }

  /** Resolves after the first look for accounts, whether it succeeded or not, or at once if there is no lease yet. */
  static async start(options: SyncOptions): Promise<SyncEngine> {
    const engine = new SyncEngine(options)
    if (options.instance.lease) await engine.#loop.firstLook
    return engine
  }

  /** Accounts were changed or connected: look at once. */
  wake(): void {
    this.#claimedAt = Number.NEGATIVE_INFINITY
    this.#loop.wake()
  }

  get accountCount(): number {
    return this.#keepers.size
  }

  /** Why this process cannot follow accounts now; null if it can. */
  get problem(): string | null {
    if (!this.#options.instance.lease) return 'it has no lease to follow accounts with'
    const seconds = (performance.now() - this.#lookedAt) / 1_000
    return seconds > LOOK_SECONDS_MAX ? 'it has stopped looking for accounts to follow' : null
  }

  async #look(signal: AbortSignal): Promise<number> {
    const lease = await this.#options.instance.awaitLease(signal)
    if (lease !== this.#lease) this.#begin(lease)
    // A look that hangs on the database must not outlast the lease.
    const hasMore = await unlessAborted(lease.lapsed, this.#attendAndClaim(lease))
    this.#lookedAt = performance.now()
    return hasMore ? 0 : ATTENTION_SECONDS
  }

  #begin(lease: Lease): void {
    this.#lease = lease
    this.#checkedUpTo = FIRST_ID
    this.#recoveredAt = Number.NEGATIVE_INFINITY
    lease.lapsed.addEventListener('abort', () => this.#dropAll(), { once: true })
  }

  /** @returns whether there may be more to claim now */
  async #attendAndClaim(lease: Lease): Promise<boolean> {
    const { db } = this.#options
    await this.#attend(lease)
    // Not with each wake: it finds only what nobody announced.
    if (performance.now() - this.#recoveredAt >= CLAIM_INTERVAL_MS) {
      this.#recoveredAt = performance.now()
      const released = await releaseOfDead(db)
      await this.#releaseUnkept(lease)
      this.#claimedAt = Number.NEGATIVE_INFINITY
      if (released === RELEASED_AT_ONCE) this.#recoverAtOnce()
    }
    if (performance.now() - this.#claimedAt < CLAIM_INTERVAL_MS) return false
    this.#claimedAt = performance.now()
    const claimed = await claimAccounts(db, lease.id, CLAIM_AT_ONCE)
    // If the lease lapsed before the claim was answered, the accounts belong to a dead instance and are taken from it.
    if (lease.lapsed.aborted) return false
    for (const owned of claimed) this.#keep(owned, lease)
    const hasMore = claimed.length === CLAIM_AT_ONCE
    if (hasMore) this.#claimedAt = Number.NEGATIVE_INFINITY
    return hasMore
  }

  async #attend(lease: Lease): Promise<void> {
    const { db } = this.#options
    for (const { accountId, epoch, mustStop, mustRestart } of await findAttention(db, lease.id)) {
      const keeper = this.#keepers.get(accountId)
      if (keeper?.owned.epoch !== epoch) continue
      if (mustStop) void keeper[Symbol.asyncDispose]()
      else if (!mustRestart) keeper.nudge.fire()
      else if (await this.#takeRestart(keeper)) keeper.restart()
    }
  }

  /** Clears the request, or the next look would restart the keeper again. A restart reads everything anyway. */
  async #takeRestart({ owned }: Keeper): Promise<boolean> {
    try {
      await takeWanted(this.#options.db, owned)
      return true
    } catch (error) {
      if (error instanceof FenceLost) return false
      throw error
    }
  }

  /**
   * Releases accounts that the tables assign to this process but that it does not follow, so that they are claimed
   * again: their release failed, or the answer to their claim was lost.
   */
  async #releaseUnkept(lease: Lease): Promise<void> {
    const { db, log } = this.#options
    const page = await listOwned(db, lease.id, this.#checkedUpTo, CHECK_AT_ONCE)
    this.#checkedUpTo = page.length < CHECK_AT_ONCE ? FIRST_ID : (page.at(-1)?.id ?? FIRST_ID)
    const unkept = page.filter(({ id, epoch }) => this.#keepers.get(id)?.owned.epoch !== epoch)
    if (unkept.length === 0) return
    log.warn({ count: unkept.length }, 'Accounts of this process were not followed; they are claimed again')
    for (let at = 0; at < unkept.length; at += RELEASED_AT_ONCE)
      await releaseAccounts(db, unkept.slice(at, at + RELEASED_AT_ONCE))
    // If some were lost, there may be more.
    this.#recoverAtOnce()
  }

  #recoverAtOnce(): void {
    this.#recoveredAt = Number.NEGATIVE_INFINITY
    this.wake()
  }

  #keep(owned: OwnedAccount, lease: Lease): void {
    const before = this.#keepers.get(owned.id)
    if (before) this.#end(before)
    const keeper = new Keeper(owned, { ...this.#keeperOptions, lease: lease.lapsed })
    this.#keepers.set(owned.id, keeper)
    const forget = () => {
      this.#ending.delete(keeper)
      if (this.#keepers.get(owned.id) === keeper) this.#keepers.delete(owned.id)
    }
    keeper.finished.then(forget, (error: unknown) => {
      this.#options.log.error({ error, accountId: owned.id }, 'Following an account ended with an error')
      forget()
    })
  }

  #end(keeper: Keeper): void {
    this.#ending.add(keeper)
    void keeper[Symbol.asyncDispose]()
  }

  /** Keepers stop by themselves when the lease lapses. Nothing that they wait for is waited for here. */
  #dropAll(): void {
    if (this.#keepers.size > 0)
      this.#options.log.warn({ count: this.#keepers.size }, 'The lease lapsed. Letting all accounts go')
    for (const keeper of this.#keepers.values()) this.#ending.add(keeper)
    this.#keepers.clear()
    this.#loop.wake()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]()
    const keepers = [...this.#keepers.values(), ...this.#ending]
    await Promise.all(keepers.map(keeper => keeper[Symbol.asyncDispose]()))
  }
}
