import type { Kysely } from 'kysely'
import type { Tables } from '../database/tables.ts'
import type { Logger } from '../kit/log.ts'
import { ProviderFailure } from '../providers/failure.ts'
import { backoffMs } from './backoff.ts'
import type { BulkPermits } from './bulk-permits.ts'
import { describeFailure } from './describe-failure.ts'
import type { FollowedKind } from './followed-kinds.ts'
import type { FollowedHalf, Follower, Rest } from './follower.ts'
import type { Connector, ConnectorOf } from '../connections/connections.ts'
import { KeeperPermit, KeptConnection } from './kept-connection.ts'
import { LoginRefusals } from './login-refusals.ts'
import { Nudge, pause } from '../processes/nudge.ts'
import { FenceLost, type OwnedAccount } from '../accounts/halves/ownership.ts'
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
  problemOf,
  recordClosed,
  recordProblem,
  recordRefusedGrant,
} from './trouble.ts'

/** Another half than mail whose login is refused is tried this often, so that polling locks nobody out. */
const REFUSED_RETRY_SECONDS = 3600
/** A half that rests until the account changes looks nevertheless. */
const REST_SECONDS_MAX = 3600

export interface RunnerOptions {
  db: Kysely<Tables>
  connectorOf: ConnectorOf
  /** Spreads the first connections of accounts that were claimed together. */
  ramp: Ramp
  log: Logger
  /** The longest time between two passes over all data of the half. */
  pollSeconds: number
  /** A stage that makes no progress for this long is ended and tried again. */
  stallSeconds: number
  /** How long a login must be refused before the password is taken to be wrong. */
  refusalSeconds: number
  renewal?: RenewalPace
}

/** An account that this process owns, as the runners of its halves see it. */
export interface KeptAccount {
  readonly owned: OwnedAccount
  /** Aborts when the account is to be released after the step at hand. */
  readonly leaving: AbortSignal
  /** Ends all runners of the account, which is not ours any more or not to be followed. */
  stop(): void
}

/**
 * Keeps one half of an owned account in sync, over connections of its own, until the keeper of the account stops it or lets
 * it leave. A failure ends no other runner, unless the whole account is no longer to be followed. Never throws.
 */
export class Runner {
  readonly account: KeptAccount
  readonly kind: HalfKind
  /** Fired when something was asked for: the runner looks at once. */
  readonly nudge = new Nudge()
  /** Fired when the provider has pushed that something changed: what it reports is read at once. */
  readonly notice = new Nudge()
  readonly #options: RunnerOptions
  readonly #bulkPermits: BulkPermits
  readonly #report: RuntimeReport
  readonly #findConnector: () => Promise<Connector>
  readonly #refusals: LoginRefusals
  readonly #findRest: Follower['findRest']
  readonly #followed: FollowedHalf
  readonly #log: Logger
  /** Ends the attempt at hand, since the runner begins again or stops. */
  #ended = new AbortController()
  #isStopped = false
  #hasBegun = false
  /** Whether the last attempt was connected: a connection that is only renewed is no news. */
  #isKnownConnected = false
  /** Whether a problem of the half may be stored, which ends when the half is reached. */
  #mayHaveProblem = true
  #failures = 0
  /** The version of the half when it was last connected to. */
  #version = ''
  readonly finished: Promise<void>

  constructor(account: KeptAccount, { follower, bulkPermits }: FollowedKind, options: RunnerOptions) {
    const { owned } = account
    const { kind } = follower
    this.account = account
    this.kind = kind
    this.#options = options
    this.#bulkPermits = bulkPermits
    this.#log = options.log.child({ accountId: owned.id, half: kind })
    this.#report = new RuntimeReport(options.db, owned, kind, this.#log)
    this.#findConnector = options.connectorOf(owned, kind)
    this.#refusals = new LoginRefusals(options.refusalSeconds)
    this.#findRest = follower.findRest?.bind(follower)
    this.#followed = follower.begin(owned)
    this.finished = this.#run()
  }

  get state(): RuntimeState {
    return this.#report.state
  }

  /** Begins again with changed settings or servers. */
  restart(): void {
    this.#refusals.clear()
    this.#ended.abort()
    this.nudge.fire()
  }

  /** Ends the attempt at hand, without a wait for its end. */
  stop(): void {
    this.#isStopped = true
    this.#ended.abort()
  }

  get #mustEnd(): boolean {
    return this.#isStopped || this.account.leaving.aborted
  }

  async #run(): Promise<void> {
    while (!this.#mustEnd) {
      if (this.#ended.signal.aborted) this.#ended = new AbortController()
      const until = this.#ended.signal
      try {
        const outcome = await this.#followOnce(until)
        if (outcome === 'caught_up') await this.#awaitTurn(until)
      } catch (error) {
        if (error instanceof FenceLost) this.account.stop()
        if (this.#mustEnd) break
        if (!until.aborted) await this.#recover(error)
      }
    }
    await this.#followed[Symbol.asyncDispose]()
  }

  /** Follows the half over one connection. @returns whether older data was still to come when that was given up */
  async #followOnce(until: AbortSignal): Promise<'caught_up' | 'more'> {
    const { db, stallSeconds } = this.#options
    // This attempt serves every request made until now. A request that stayed would end each wait after a failure.
    await takeWanted(db, this.account.owned, this.kind)
    const rest = await this.#findRest?.(this.account.owned)
    if (rest) return this.#rest(rest, until)
    const connector = await this.#findConnector()
    await this.#report.tell('connecting', `waiting for a connection to ${connector.host}`)
    using permit = new KeeperPermit(this.account.leaving, await connector.acquire(this.#endedOrLeft(until)))
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

  /**
   * Follows nothing until the account changes. A half that is switched off, or that the provider does not offer, has no
   * problem.
   */
  async #rest({ reason, seconds, problem }: Rest, until: AbortSignal): Promise<'more'> {
    if (problem === undefined) await this.#endProblem()
    else await recordProblem(this.#options.db, this.account.owned, { kind: this.kind, problem })
    this.#mayHaveProblem = true
    await this.#report.tell('stopped', reason)
    this.nudge.clear()
    const waitMs = (seconds ?? REST_SECONDS_MAX) * 1_000
    await pause(waitMs, until, this.account.leaving, this.nudge.signal)
    return 'more'
  }

  async #endProblem(): Promise<void> {
    if (!this.#mayHaveProblem) return
    // Before the statement: a failure meanwhile may store another problem.
    this.#mayHaveProblem = false
    try {
      await recordProblem(this.#options.db, this.account.owned, { kind: this.kind, problem: null })
    } catch (error) {
      this.#mayHaveProblem = true
      throw error
    }
  }

  #endedOrLeft(until: AbortSignal): AbortSignal {
    return AbortSignal.any([until, this.account.leaving])
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
    // A connection to mail is a login; others are only begun.
    if (this.kind === 'mail') this.#refusals.clear()
    if (!this.#isKnownConnected) this.#log.info('The account is connected')
    this.#isKnownConnected = true
    return kept
  }

  /** Follows the half over this connection, and over those that take its place. */
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
  ): ReturnType<FollowedHalf['follow']> {
    const { pollSeconds } = this.#options
    if (this.kind === 'mail') {
      this.#mayHaveProblem = true
      await this.#endProblem()
    }
    return this.#followed.follow({
      owned: this.account.owned,
      connected,
      isOneAtATime: connector.isOneAtATime,
      syncWindowDays: connector.syncWindowDays,
      stall,
      permit,
      renewal,
      bulkPermits: this.#bulkPermits,
      nudge: this.nudge,
      notice: this.notice,
      report: this.#report,
      pollSeconds,
      log: this.#log,
      onProgress: () => this.#onProgress(),
    })
  }

  #onProgress(): void {
    this.#failures = 0
    if (this.kind === 'mail') return
    this.#refusals.clear()
    this.#endProblem().catch((error: unknown) =>
      this.#log.warn({ error }, 'Could not write down that a problem is over'),
    )
  }

  /** @returns the connection that takes the place of the former one, which itself stays if none can; null if no permit is free */
  async #renew(former: KeptConnection, stall: StallWatch): Promise<KeptConnection | null> {
    stall.progressed()
    try {
      const connector = await this.#findConnector()
      using _begun = await this.#options.ramp.begin(connector.host, this.#endedOrLeft(stall.signal))
      const free = connector.acquireFree?.()
      return free ? await this.#open(connector, new KeeperPermit(this.account.leaving, free), stall) : null
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
    await pause(pollSeconds * 1_000, until, this.account.leaving, this.nudge.signal, this.notice.signal)
  }

  async #recover(error: unknown): Promise<void> {
    const failure = error instanceof ProviderFailure ? error : null
    const refusal = failure && this.#refusalOf(failure)
    this.#failures++
    this.#isKnownConnected = false
    this.#logFailure(error)
    const isRefused = this.kind !== 'mail' && refusal === 'login_failed'
    const askedSeconds = isRefused ? REFUSED_RETRY_SECONDS : (failure?.retryAfterSeconds ?? 0)
    const wait = Math.max(backoffMs(this.#failures), askedSeconds * 1_000)
    try {
      if (failure?.kind === 'unsupported' && this.kind !== 'mail') {
        await this.#rest({ reason: failure.message, seconds: null }, this.#ended.signal)
        return
      }
      if (failure) await this.#recordTrouble(failure, refusal)
      await this.#tellOf(error, wait)
    } catch (unwritten) {
      this.#log.warn({ error: unwritten }, 'Could not write down why the account is not followed')
    }
    this.nudge.clear()
    await pause(wait, this.#ended.signal, this.account.leaving, this.nudge.signal)
  }

  async #tellOf(error: unknown, wait: number): Promise<void> {
    if (!(await isToBeFollowed(this.#options.db, this.account.owned))) return this.account.stop()
    const at = new Date(Date.now() + wait).toISOString()
    await this.#report.tell('backoff', `${describeFailure(error)}; next try at ${at}`)
  }

  /** Records what a failure means for the account itself. */
  async #recordTrouble(failure: ProviderFailure, refusal: GrantRefusal | null): Promise<void> {
    const { db } = this.#options
    this.#mayHaveProblem = true
    if (refusal) {
      await recordRefusedGrant(db, this.account.owned, this.kind, { reason: refusal, version: this.#version })
      this.#log.info({ reason: refusal }, 'The provider refuses the account, which has to be connected again')
    }
    if (failure.kind === 'mailbox_gone') await recordClosed(db, this.account.owned, this.kind, failure.reason)
    const problem = problemOf(failure, this.kind)
    if (problem) await recordProblem(db, this.account.owned, { kind: this.kind, problem })
  }

  /** The reason for which the account, or the half, needs a new grant; null if it needs none. */
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
