import type { Kysely } from 'kysely'
import type { Tables } from '../database/tables.ts'
import type { Logger } from '../kit/log.ts'
import type { HostBudget } from './host-budget.ts'
import { Instance } from './instance.ts'
import { Keeper, type KeeperOptions, type MailDoor } from './keeper.ts'
import { Nudge, pause } from './nudge.ts'
import { DEFAULT_REFUSAL_SECONDS } from './login-refusals.ts'
import { claimAccounts, findAttention, type OwnedAccount, takeWanted } from './ownership.ts'
import { TableStatistics } from './table-statistics.ts'
import { Turns } from './turns.ts'

const CLAIM_INTERVAL_MS = 3_000
const CLAIM_AT_ONCE = 50
/** Wakes are told at once; this poll is what is guaranteed. */
const ATTENTION_INTERVAL_MS = 1_000
const HEAVY_PASSES_AT_ONCE = 4
const DEFAULT_POLL_SECONDS = 45
const DEFAULT_STALL_SECONDS = 120

export interface SyncOptions {
  db: Kysely<Tables>
  /** A connection apart, so that a busy pool never stops the heartbeat. */
  leaseDb: Kysely<Tables>
  openMail(owned: OwnedAccount): () => Promise<MailDoor>
  budget: HostBudget
  /** Whether no other process can be using this database. */
  isAlone: boolean
  /** Told of an account that has new mail, or whose first sync is complete. */
  onMail(accountId: string): void
  log: Logger
  pollSeconds?: number
  stallSeconds?: number
  refusalSeconds?: number
}

/** The sync role: owns accounts as long as this process lives, and keeps each in sync. */
export class SyncEngine implements AsyncDisposable {
  readonly #options: SyncOptions
  readonly #instance: Instance
  readonly #keeperOptions: KeeperOptions
  readonly #keepers = new Map<string, Keeper>()
  readonly #stop = new AbortController()
  readonly #nudge = new Nudge()
  readonly #statistics: TableStatistics
  readonly #running: Promise<void>
  #claimedAt = Number.NEGATIVE_INFINITY

  private constructor(options: SyncOptions, instance: Instance) {
    this.#options = options
    this.#instance = instance
    this.#statistics = new TableStatistics(options.db, options.log)
    this.#keeperOptions = {
      db: options.db,
      openMail: owned => options.openMail(owned),
      budget: options.budget,
      turns: new Turns(HEAVY_PASSES_AT_ONCE),
      statistics: this.#statistics,
      onMail: accountId => options.onMail(accountId),
      log: options.log,
      pollSeconds: options.pollSeconds ?? DEFAULT_POLL_SECONDS,
      stallSeconds: options.stallSeconds ?? DEFAULT_STALL_SECONDS,
      refusalSeconds: options.refusalSeconds ?? DEFAULT_REFUSAL_SECONDS,
    }
    this.#running = this.#run()
  }

  static async start(options: SyncOptions): Promise<SyncEngine> {
    return new SyncEngine(options, await Instance.register(options.leaseDb, options.log, options.isAlone))
  }

  /** Accounts were changed or connected: look at once. */
  wake(): void {
    this.#claimedAt = Number.NEGATIVE_INFINITY
    this.#nudge.fire()
  }

  get accountCount(): number {
    return this.#keepers.size
  }

  async #run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      this.#nudge.clear()
      try {
        await this.#look()
      } catch (error) {
        this.#options.log.warn({ error }, 'Could not look for accounts')
      }
      await pause(ATTENTION_INTERVAL_MS, this.#stop.signal, this.#nudge.signal)
    }
  }

  async #look(): Promise<void> {
    if (!this.#instance.isAlive) return this.#stopAll('the lease could not be renewed')
    for (const { accountId, epoch, mustStop, mustRestart } of await findAttention(
      this.#options.db,
      this.#instance.id,
    )) {
      const keeper = this.#keepers.get(accountId)
      if (!keeper || keeper.owned.epoch !== epoch) continue
      if (mustStop) void keeper[Symbol.asyncDispose]()
      else if (mustRestart) {
        // Taken here, or the next look would restart what has just begun. What begins anew reads everything anyway.
        await takeWanted(this.#options.db, keeper.owned)
        keeper.restart()
      } else keeper.nudge.fire()
    }
    if (performance.now() - this.#claimedAt < CLAIM_INTERVAL_MS) return
    this.#claimedAt = performance.now()
    const claimed = await claimAccounts(this.#options.db, this.#instance.id, CLAIM_AT_ONCE)
    for (const owned of claimed) {
      void this.#keepers.get(owned.id)?.[Symbol.asyncDispose]()
      const keeper = new Keeper(owned, this.#keeperOptions)
      this.#keepers.set(owned.id, keeper)
      void keeper.finished.then(() => {
        if (this.#keepers.get(owned.id) === keeper) this.#keepers.delete(owned.id)
      })
    }
    if (claimed.length === CLAIM_AT_ONCE) this.wake()
  }

  async #stopAll(reason: string): Promise<void> {
    if (this.#keepers.size > 0)
      this.#options.log.warn({ reason, count: this.#keepers.size }, 'Letting all accounts go')
    await Promise.all([...this.#keepers.values()].map(keeper => keeper[Symbol.asyncDispose]()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#running
    await Promise.all([...this.#keepers.values()].map(keeper => keeper[Symbol.asyncDispose]()))
    await this.#statistics[Symbol.asyncDispose]()
    await this.#instance[Symbol.asyncDispose]()
  }
}
