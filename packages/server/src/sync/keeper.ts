import type { HalfKind } from '../accounts/halves/kind.ts'
import type { RuntimeState } from '../accounts/halves/report.ts'
import { type ClaimedAccount, type OwnedAccount, releaseAccounts } from '../accounts/halves/ownership.ts'
import type { FollowedKind } from './followed-kinds.ts'
import { type KeptAccount, Runner, type RunnerOptions } from './runner.ts'

export interface KeeperOptions extends RunnerOptions {
  kinds: ReadonlyMap<HalfKind, FollowedKind>
  /** Aborts when the owner's lease lapses: the account is dropped at once, and not released. */
  lease: AbortSignal
}

/**
 * Holds one account for as long as this process owns it, with a runner for each of its halves whose kind is followed. Only
 * the account has a lease and an epoch, so it is released when all runners have ended.
 */
export class Keeper implements KeptAccount, AsyncDisposable {
  readonly owned: OwnedAccount
  readonly finished: Promise<void>
  readonly #options: KeeperOptions
  readonly #runners: Runner[] = []
  readonly #leave = new AbortController()
  readonly #over = Promise.withResolvers<void>()
  #isStopped = false

  /** @param claimed with the kinds of its halves at that time; `follow` adds the others */
  constructor(claimed: ClaimedAccount, options: KeeperOptions) {
    this.owned = claimed
    this.#options = options
    if (options.lease.aborted) this.stop()
    for (const kind of claimed.kinds) this.follow(kind)
    this.finished = this.#run()
  }

  /** Finds the runner of a half; null if this process does not follow it. */
  find(kind: HalfKind): Runner | null {
    return this.#runners.find(runner => runner.kind === kind) ?? null
  }

  /** Begins to follow a half that has no runner yet. Does nothing if this process does not follow its kind. */
  follow(kind: HalfKind): void {
    const followed = this.#options.kinds.get(kind)
    if (!followed || this.#isStopped || this.isLeaving || this.find(kind)) return
    this.#runners.push(new Runner(this, followed, this.#options))
  }

  /** The halves that are followed, with what was last reported of each. */
  listStates(): Array<{ kind: HalfKind; state: RuntimeState }> {
    return this.#runners.map(({ kind, state }) => ({ kind, state }))
  }

  /** Whether something is being read, in any half. */
  get isSyncing(): boolean {
    return this.#runners.some(({ state }) => state === 'syncing')
  }

  get leaving(): AbortSignal {
    return this.#leave.signal
  }

  get isLeaving(): boolean {
    return this.#leave.signal.aborted
  }

  /** Lets each runner finish its step in progress, such as a pass, and then releases the account to another process. */
  leave(): void {
    this.#leave.abort()
    this.#over.resolve()
  }

  stop(): void {
    this.#isStopped = true
    for (const runner of this.#runners) runner.stop()
    this.#over.resolve()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop()
    await this.finished
  }

  async #run(): Promise<void> {
    const { db, lease, log } = this.#options
    const stop = () => this.stop()
    lease.addEventListener('abort', stop)
    await this.#over.promise
    const ends = await Promise.allSettled(this.#runners.map(({ finished }) => finished))
    lease.removeEventListener('abort', stop)
    for (const end of ends) if (end.status === 'rejected') throw end.reason
    if (lease.aborted) return
    await releaseAccounts(db, [this.owned]).catch((error: unknown) =>
      log.warn({ error, accountId: this.owned.id }, 'Could not release the account; it is tried again'),
    )
  }
}
