import type { Kysely } from 'kysely'
import type { Tables } from '../database/tables.ts'
import type { Logger } from '../kit/log.ts'
import { ProviderFailure } from '../providers/failure.ts'
import { backoffMs } from './backoff.ts'
import { describeFailure } from './describe-failure.ts'
import type { FollowedAccount, Follower } from './follower.ts'
import type { Connector, ConnectorOf } from '../connections/connections.ts'
import { KeeperPermit, KeptConnection } from './kept-connection.ts'
import { LoginRefusals } from './login-refusals.ts'
import { Nudge, pause } from '../processes/nudge.ts'
import { FenceLost, type OwnedAccount, releaseAccounts } from '../accounts/halves/ownership.ts'
import { takeWanted } from '../accounts/halves/wanted.ts'
import type { Ramp } from './ramp.ts'
import type { RenewalPace } from './renewal.ts'
import type { HalfKind } from '../accounts/halves/kind.ts'
import type { RuntimeState } from '../accounts/halves/report.ts'
import { RuntimeReport } from './report.ts'
import { StallWatch } from './stall-watch.ts'
import {
  type GrantRefusal,
  isToBeFollowed,
  misconfigurationOf,
  recordClosed,
  recordProblem,
  recordRefusedGrant,
} from './trouble.ts'
import type { Turns } from './turns.ts'

export interface KeeperOptions {
  db: Kysely<Tables>
  connectorOf: ConnectorOf
  turns: Turns
  /** Spreads the first connections of accounts that were claimed together. */
  ramp: Ramp
  follower: Follower
  /** Aborts when the owner's lease lapses: the account is dropped at once, and not released. */
  lease: AbortSignal
  log: Logger
  /** The longest time between two passes over all mailboxes. */
  pollSeconds: number
  /** A stage that makes no progress for this long is ended and tried again. */
  stallSeconds: number
  /** How long a login must be refused before the password is taken to be wrong. */
  refusalSeconds: number
  renewal?: RenewalPace
}

/** Keeps one owned account in sync until it is stopped, or the account is no longer ours. Never throws. */
export class Keeper implements AsyncDisposable {
  readonly owned: OwnedAccount
  /** Fired when something was asked for: the keeper looks at once. */
  readonly nudge = new Nudge()
  /** Fired when the provider has pushed that something changed: what it reports is read at once. */
  readonly notice = new Nudge()
  readonly #options: KeeperOptions
  readonly #kind: HalfKind
  readonly #report: RuntimeReport
  readonly #findConnector: () => Promise<Connector>
  readonly #refusals: LoginRefusals
  readonly #followed: FollowedAccount
  readonly #log: Logger
  readonly #leave = new AbortController()
  /** Ends the attempt at hand, since the keeper begins again or stops. */
  #ended = new AbortController()
  #isStopped = false
  #hasBegun = false
  /** Whether the last attempt was connected: a connection that is only renewed is no news. */
  #isKnownConnected = false
  #failures = 0
  /** That of the account when it was last connected to. */
  #version = ''
  readonly finished: Promise<void>

  constructor(owned: OwnedAccount, options: KeeperOptions) {
    this.owned = owned
    this.#options = options
    this.#kind = options.follower.kind
    this.#log = options.log.child({ accountId: owned.id })
    this.#report = new RuntimeReport(options.db, owned, this.#kind, this.#log)
    this.#findConnector = options.connectorOf(owned, this.#kind)
    this.#refusals = new LoginRefusals(options.refusalSeconds)
    this.#followed = options.follower.begin(owned)
    this.finished = this.#run()
  }

  get state(): RuntimeState {
    return this.#report.state
  }

  get isLeaving(): boolean {
    return this.#leave.signal.aborted
  }

  /** Finishes the step in progress, such as a pass, and then releases the account to another process. */
  leave(): void {
    this.#leave.abort()
  }

  /** Begins again with changed settings or servers. */
  restart(): void {
    this.#refusals.clear()
    this.#ended.abort()
    this.nudge.fire()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop()
    await this.finished
  }

  #stop(): void {
    this.#isStopped = true
    this.#ended.abort()
  }

  async #run(): Promise<void> {
    const { db, lease } = this.#options
    const stop = () => this.#stop()
    if (lease.aborted) stop()
    lease.addEventListener('abort', stop)
    await this.#keep()
    lease.removeEventListener('abort', stop)
    await this.#followed[Symbol.asyncDispose]()
    if (lease.aborted) return
    await releaseAccounts(db, [this.owned]).catch((error: unknown) =>
      this.#log.warn({ error }, 'Could not release the account; it is tried again'),
    )
  }

  async #keep(): Promise<void> {
    while (!this.#isStopped && !this.isLeaving) {
      if (this.#ended.signal.aborted) this.#ended = new AbortController()
      const until = this.#ended.signal
      try {
        const outcome = await this.#followOnce(until)
        if (outcome === 'caught_up') await this.#awaitTurn(until)
      } catch (error) {
        if (this.#isStopped || this.isLeaving || error instanceof FenceLost) break
        if (!until.aborted) await this.#recover(error)
      }
    }
  }

  /** Follows the account over one connection. @returns whether older mail was still to come when that was given up */
  async #followOnce(until: AbortSignal): Promise<'caught_up' | 'more'> {
    const { db, stallSeconds } = this.#options
    // This attempt serves every request made until now. A request that stayed would end each wait after a failure.
    await takeWanted(db, this.owned, this.#kind)
    const connector = await this.#findConnector()
    await this.#report.tell('connecting', `waiting for a connection to ${connector.host}`)
    using permit = new KeeperPermit(this.#leave.signal, await connector.acquire(this.#endedOrLeft(until)))
    using begun = await this.#begin(connector, until)
    using stall = new StallWatch(stallSeconds, until)
    try {
      const kept = await this.#open(connector, permit, stall)
      begun?.[Symbol.dispose]()
      return await this.#follow(kept, stall)
    } catch (error) {
      // The reason counts, not the error of the connection that was ended for it.
      stall.signal.throwIfAborted()
      throw error
    }
  }

  #endedOrLeft(until: AbortSignal): AbortSignal {
    return AbortSignal.any([until, this.#leave.signal])
  }

  async #begin({ host }: Connector, until: AbortSignal): Promise<Disposable | null> {
    if (this.#hasBegun) return null
    const begun = await this.#options.ramp.begin(host, this.#endedOrLeft(until))
    this.#hasBegun = true
    return begun
  }

  async #open(connector: Connector, permit: KeeperPermit, { signal }: StallWatch): Promise<KeptConnection> {
    this.#version = connector.version
    const kept = await KeptConnection.open(connector, permit, { pace: this.#options.renewal, signal })
    this.#refusals.clear()
    if (!this.#isKnownConnected) this.#log.info('The account is connected')
    this.#isKnownConnected = true
    return kept
  }

  /** Follows the account over this connection, and over those that take its place. */
  async #follow(first: KeptConnection, stall: StallWatch): Promise<'caught_up' | 'more'> {
    let kept = first
    try {
      for (;;) {
        const outcome = await this.#followOver(kept, stall)
        if (outcome !== 'renewal_due') return outcome
        const next = await this.#renew(kept, stall)
        // There is no room for both, so the former one ends first.
        if (!next) return 'more'
        const former = kept
        kept = next
        if (former !== next) await former[Symbol.asyncDispose]()
      }
    } finally {
      await kept[Symbol.asyncDispose]()
    }
  }

  async #followOver(
    { connector, connected, permit, renewal }: KeptConnection,
    stall: StallWatch,
  ): ReturnType<FollowedAccount['follow']> {
    const { db, turns, pollSeconds } = this.#options
    await recordProblem(db, this.owned, { kind: this.#kind, problem: null })
    return this.#followed.follow({
      owned: this.owned,
      connected,
      isOneAtATime: connector.isOneAtATime,
      syncWindowDays: connector.syncWindowDays,
      stall,
      permit,
      renewal,
      turns,
      nudge: this.nudge,
      notice: this.notice,
      report: this.#report,
      pollSeconds,
      log: this.#log,
      onProgress: () => {
        this.#failures = 0
      },
    })
  }

  /** @returns the connection that takes the place of the former one, which itself stays if none can; null if no permit is free */
  async #renew(former: KeptConnection, stall: StallWatch): Promise<KeptConnection | null> {
    stall.progressed()
    try {
      const connector = await this.#findConnector()
      using _begun = await this.#options.ramp.begin(connector.host, this.#endedOrLeft(stall.signal))
      const free = connector.acquireFree?.()
      return free ? await this.#open(connector, new KeeperPermit(this.#leave.signal, free), stall) : null
    } catch (error) {
      if (!(error instanceof ProviderFailure) || stall.signal.aborted) throw error
      this.#log.info({ error, kind: error.kind }, 'A connection could not be renewed, and is kept')
      former.putOffRenewal()
      return former
    }
  }

  /** Waits until a pass is due, after the connection was given up to another account. */
  async #awaitTurn(until: AbortSignal): Promise<void> {
    const { pollSeconds } = this.#options
    await this.#report.tell(
      'live',
      `read in turns with other accounts of its server, every ${pollSeconds} s or later`,
    )
    this.nudge.clear()
    await pause(pollSeconds * 1_000, until, this.#leave.signal, this.nudge.signal, this.notice.signal)
  }

  async #recover(error: unknown): Promise<void> {
    const failure = error instanceof ProviderFailure ? error : null
    this.#failures++
    this.#isKnownConnected = false
    this.#logFailure(error)
    const wait = Math.max(backoffMs(this.#failures), (failure?.retryAfterSeconds ?? 0) * 1_000)
    try {
      await this.#tellOf(error, wait)
    } catch (unwritten) {
      this.#log.warn({ error: unwritten }, 'Could not write down why the account is not followed')
    }
    this.nudge.clear()
    await pause(wait, this.#ended.signal, this.#leave.signal, this.nudge.signal)
  }

  async #tellOf(error: unknown, wait: number): Promise<void> {
    const { db } = this.#options
    const failure = error instanceof ProviderFailure ? error : null
    if (failure) await this.#recordTrouble(failure)
    if (!(await isToBeFollowed(db, this.owned))) return this.#stop()
    const at = new Date(Date.now() + wait).toISOString()
    await this.#report.tell('backoff', `${describeFailure(error)}; next try at ${at}`)
  }

  /** Records what a failure says about the account itself. */
  async #recordTrouble(failure: ProviderFailure): Promise<void> {
    const { db } = this.#options
    const reason = this.#refusalOf(failure)
    if (reason) {
      await recordRefusedGrant(db, this.owned, this.#kind, { reason, version: this.#version })
      this.#log.info({ reason }, 'The provider refuses the account, which has to be connected again')
    }
    if (failure.kind === 'mailbox_gone') await recordClosed(db, this.owned, this.#kind, failure.reason)
    const problem = misconfigurationOf(failure)
    if (problem) await recordProblem(db, this.owned, { kind: this.#kind, problem })
  }

  /** Why the account needs a new grant, if the failure says so. */
  #refusalOf({ kind }: ProviderFailure): GrantRefusal | null {
    if (kind === 'login_failed') return this.#refusals.add(performance.now()) ? kind : null
    if (kind === 'grant_refused') return 'invalid_grant'
    return kind === 'scope_missing' ? kind : null
  }

  #logFailure(error: unknown): void {
    const fields = { error, attempt: this.#failures }
    if (error instanceof ProviderFailure)
      this.#log.info({ ...fields, kind: error.kind }, 'The provider failed')
    else this.#log.error(fields, 'Following an account failed')
  }
}
