import { type RawBuilder, sql } from 'kysely'
import type { HalfKind } from '../accounts/halves/kind.ts'
import type { Db } from '../database/pool.ts'
import type { Logger } from '../kit/log.ts'
import type { ConnectorOf } from '../connections/connections.ts'
import type { Instance } from '../processes/instance.ts'
import type { Lease } from '../processes/lease.ts'
import type { Pulse } from '../processes/pulse.ts'
import { followKinds, weightOf } from './followed-kinds.ts'
import type { Follower } from './follower.ts'
import type { Keeper } from './keeper.ts'
import { Keepers } from './keepers.ts'
import { unlessAborted } from '../processes/nudge.ts'
import { WokenLoop } from '../processes/woken-loop.ts'
import { FIRST_ID } from '../kit/ids.ts'
import { DEFAULT_REFUSAL_SECONDS } from './login-refusals.ts'
import {
  FenceLost,
  hasUnfollowed,
  isUnfollowed,
  listOwned,
  type OwnedAccount,
  RELEASED_AT_ONCE,
  releaseAccounts,
  releaseOfDead,
} from '../accounts/halves/ownership.ts'
import {
  type Attention,
  needsAttention,
  takeAttention,
  takeWanted,
  type WantedHalf,
} from '../accounts/halves/wanted.ts'
import { Ramp } from './ramp.ts'
import type { RenewalPace } from './renewal.ts'
import type { Runner } from './runner.ts'
import { SHARE_PACE, type SharePace, ShareTaker } from './share.ts'

const RECOVERY_INTERVAL_MS = 3_000
/** Accounts checked at a time, of those that the tables assign to this process. They take about 10 ms. */
const CHECK_AT_ONCE = 5_000
/** A process whose looks take longer, or have failed for longer, is not ready. */
const LOOK_SECONDS_MAX = 25
/** The pulse and wakes find what is due; this poll is only a safeguard. */
const POLL_SECONDS = 15
const RETRY_SECONDS_MAX = 1
const DEFAULT_POLL_SECONDS = 45
const DEFAULT_STALL_SECONDS = 120

export interface SyncOptions {
  db: Db
  instance: Instance
  pulse: Pulse
  connectorOf: ConnectorOf
  /** At most one of each kind. */
  followers: readonly Follower[]
  log: Logger
  pollSeconds?: number
  stallSeconds?: number
  refusalSeconds?: number
  renewal?: RenewalPace
  share?: SharePace
}

/**
 * The sync role: owns its share of the accounts as long as this process lives, and keeps each in sync. When the lease
 * lapses, it lets go of all of them at once, waits for the next lease, and claims what has no owner.
 */
export class SyncEngine implements AsyncDisposable {
  readonly #options: SyncOptions
  /** The kinds of data that this process follows. */
  readonly #kinds: readonly HalfKind[]
  readonly #weight: RawBuilder<number>
  readonly #keepers: Keepers
  readonly #loop: WokenLoop
  /** The lease that the keepers rely on, and what is done under it. */
  #lease: Lease | null = null
  #share: ShareTaker | null = null
  /** Whether there may be accounts to claim. */
  #mayClaim = true
  /** Whether own accounts may need attention. */
  #mayAttend = true
  #recoveredAt = Number.NEGATIVE_INFINITY
  #checkedAt = Number.NEGATIVE_INFINITY
  #attendedAt = Number.NEGATIVE_INFINITY
  #lookedAt = Number.NEGATIVE_INFINITY
  /** Accounts up to this id, if the tables assign them to this process, are known to be followed. */
  #checkedUpTo = FIRST_ID

  private constructor(options: SyncOptions) {
    const { db, connectorOf, followers, log } = options
    const kinds = followKinds(followers)
    this.#options = options
    this.#kinds = [...kinds.keys()]
    this.#weight = weightOf(followers)
    this.#keepers = new Keepers(
      {
        db,
        connectorOf,
        ramp: new Ramp(),
        kinds,
        log,
        pollSeconds: options.pollSeconds ?? DEFAULT_POLL_SECONDS,
        stallSeconds: options.stallSeconds ?? DEFAULT_STALL_SECONDS,
        refusalSeconds: options.refusalSeconds ?? DEFAULT_REFUSAL_SECONDS,
        ...(options.renewal && { renewal: options.renewal }),
      },
      () => this.#share?.reportSoon(),
    )
    this.#loop = new WokenLoop({
      look: signal => this.#look(signal),
      failure: 'Could not look for accounts',
      log,
      listen: wake => options.pulse.ask({ isDue: () => this.#isDue(), onDue: () => this.#attendSoon(wake) }),
      retrySecondsMax: RETRY_SECONDS_MAX,
    })
  }

  /** Resolves after the first look for accounts, whether it succeeded or not, or at once if there is no lease yet. */
  static async start(options: SyncOptions): Promise<SyncEngine> {
    const engine = new SyncEngine(options)
    if (options.instance.lease) await engine.#loop.firstLook
    return engine
  }

  /** These accounts were changed or connected, or any if null: look at once. */
  wake(accountIds: readonly string[] | null): void {
    if (accountIds === null || accountIds.some(id => !this.#keepers.has(id))) this.#mayClaim = true
    if (accountIds === null || accountIds.some(id => this.#keepers.has(id))) this.#mayAttend = true
    this.#loop.wake()
  }

  get accountCount(): number {
    return this.#keepers.count
  }

  countHalves(): ReturnType<Keepers['countHalves']> {
    return this.#keepers.countHalves()
  }

  /** Why this process cannot follow accounts now; null if it can. */
  get problem(): string | null {
    if (!this.#options.instance.lease) return 'it has no lease to follow accounts with'
    const seconds = (performance.now() - this.#lookedAt) / 1_000
    return seconds > LOOK_SECONDS_MAX ? 'it has stopped looking for accounts to follow' : null
  }

  async #look(signal: AbortSignal): Promise<number> {
    const lease = await this.#options.instance.awaitLease(signal)
    const share = lease === this.#lease && this.#share ? this.#share : this.#begin(lease)
    // A look that hangs on the database must not outlast the lease.
    const seconds = await unlessAborted(lease.lapsed, this.#attendAndShare(lease, share))
    this.#lookedAt = performance.now()
    return Math.min(seconds, POLL_SECONDS)
  }

  #isDue() {
    const lease = this.#options.instance.lease
    if (!lease) return null
    const mustAttend = needsAttention(lease.id, this.#kinds, this.#keepers.listNudged())
    return sql<boolean>`(${mustAttend} or ${isUnfollowed})`
  }

  #attendSoon(wake: () => void): void {
    this.#mayAttend = true
    wake()
  }

  #begin(lease: Lease): ShareTaker {
    const { db, log, share: pace = SHARE_PACE } = this.#options
    this.#lease = lease
    this.#share = new ShareTaker({ db, lease, keepers: this.#keepers, weight: this.#weight, log }, pace)
    this.#mayClaim = true
    this.#mayAttend = true
    this.#checkedUpTo = FIRST_ID
    this.#recoveredAt = Number.NEGATIVE_INFINITY
    this.#checkedAt = Number.NEGATIVE_INFINITY
    lease.lapsed.addEventListener('abort', () => this.#dropAll(), { once: true })
    return this.#share
  }

  /** @returns the seconds until the next look */
  async #attendAndShare(lease: Lease, share: ShareTaker): Promise<number> {
    if (this.#mayAttend || isOver(this.#attendedAt, POLL_SECONDS * 1_000)) {
      this.#mayAttend = false
      this.#attendedAt = performance.now()
      await this.#attend(lease)
    }
    // The next lease may have begun meanwhile, and the fields are its own then.
    lease.lapsed.throwIfAborted()
    // Not with each wake: it finds only what nobody announced.
    if (isOver(this.#recoveredAt, RECOVERY_INTERVAL_MS)) {
      this.#recoveredAt = performance.now()
      await this.#recover(lease)
    }
    lease.lapsed.throwIfAborted()
    const mayClaim = this.#mayClaim
    this.#mayClaim = false
    // Wakes name accounts of other processes, too.
    if (share.untilDueSeconds === 0 || (mayClaim && (await hasUnfollowed(this.#options.db))))
      await share.take()
    return share.untilDueSeconds
  }

  async #recover(lease: Lease): Promise<void> {
    const { db, share: { checkSeconds } = SHARE_PACE } = this.#options
    if (isOver(this.#checkedAt, checkSeconds * 1_000)) {
      this.#checkedAt = performance.now()
      await this.#compareWithTables(lease)
    }
    if (!(await hasUnfollowed(db))) return
    this.#mayClaim = true
    if ((await releaseOfDead(db)) === RELEASED_AT_ONCE) this.#recoverAtOnce()
  }

  async #attend(lease: Lease): Promise<void> {
    const { db } = this.#options
    const found = await takeAttention(db, lease.id, this.#kinds)
    // Restarts come last: each waits for a statement, and notices are taken by now.
    for (const attention of found.toSorted(
      (one, other) => Number(isRestart(one)) - Number(isRestart(other)),
    )) {
      const keeper = this.#keepers.find({ id: attention.accountId, epoch: attention.epoch })
      if (!keeper) continue
      if (attention.mustStop) void keeper[Symbol.asyncDispose]()
      else await this.#attendHalf(keeper, attention)
    }
  }

  async #attendHalf(keeper: Keeper, { kind, mustRestart, isNoticed, isWanted }: WantedHalf): Promise<void> {
    const runner = keeper.find(kind)
    // The half was added since the account was claimed. Its runner takes what is wanted when it begins.
    if (!runner) return keeper.follow(kind)
    if (mustRestart) {
      return this.#restart(keeper.owned, runner)
    }
    if (isNoticed) runner.notice.fire()
    if (isWanted) this.#keepers.nudge(runner)
  }

  /**
   * Restarts a runner, and clears the request, or the next look would restart the runner again. An answer that is lost may
   * have cleared the request, so the runner restarts then, too.
   */
  async #restart(owned: OwnedAccount, runner: Runner): Promise<void> {
    try {
      await takeWanted(this.#options.db, owned, runner.kind)
    } catch (error) {
      if (error instanceof FenceLost) return
      runner.restart()
      throw error
    }
    runner.restart()
  }

  /**
   * Lets accounts go that the tables no longer assign to this process. Releases accounts that they do assign to it but
   * that it does not follow, so that they are claimed again: their release failed, or the answer to their claim was lost.
   */
  async #compareWithTables(lease: Lease): Promise<void> {
    const { db, log } = this.#options
    const after = this.#checkedUpTo
    const page = await listOwned(db, lease.id, after, CHECK_AT_ONCE)
    // By now other accounts may be followed under the next lease.
    if (lease.lapsed.aborted) return
    const upTo = page.length < CHECK_AT_ONCE ? null : (page.at(-1)?.id ?? null)
    this.#checkedUpTo = upTo ?? FIRST_ID
    this.#keepers.stopOthers(page, { after, upTo })
    const unkept = page.filter(owned => !this.#keepers.find(owned))
    if (unkept.length === 0) return
    log.warn({ count: unkept.length }, 'Accounts of this process were not followed; they are claimed again')
    for (let at = 0; at < unkept.length; at += RELEASED_AT_ONCE)
      await releaseAccounts(db, unkept.slice(at, at + RELEASED_AT_ONCE))
    // If some were lost, there may be more.
    this.#checkedAt = Number.NEGATIVE_INFINITY
    this.#recoverAtOnce()
  }

  #recoverAtOnce(): void {
    this.#recoveredAt = Number.NEGATIVE_INFINITY
    this.wake(null)
  }

  #dropAll(): void {
    const { count } = this.#keepers
    if (count > 0) this.#options.log.warn({ count }, 'The lease lapsed. Letting all accounts go')
    this.#keepers.dropAll()
    this.#loop.wake()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#share?.end()
    await this.#loop[Symbol.asyncDispose]()
    await this.#keepers[Symbol.asyncDispose]()
  }
}

function isOver(since: number, milliseconds: number): boolean {
  return performance.now() - since >= milliseconds
}

function isRestart(attention: Attention): boolean {
  return !attention.mustStop && attention.mustRestart
}
