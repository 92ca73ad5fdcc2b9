import type { Kysely } from 'kysely'
import type { Tables } from '../database/tables.ts'
import type { Logger } from '../kit/log.ts'
import { ProviderFailure } from '../providers/failure.ts'
import { backoffMs } from './backoff.ts'
import { describeFailure } from './describe-failure.ts'
import type { Follow, Follower } from './follower.ts'
import type { ConnectionPermit, Connector, ConnectorOf } from '../connections/connections.ts'
import { LoginRefusals } from './login-refusals.ts'
import { Nudge, pause } from '../jobs/nudge.ts'
import { FenceLost, type OwnedAccount, releaseAccounts, takeWanted } from './ownership.ts'
import { RuntimeReport } from './report.ts'
import { StallWatch } from './stall-watch.ts'
import { recordMisconfigured, recordRefusedGrant } from './trouble.ts'
import type { Turns } from './turns.ts'

export interface KeeperOptions {
  db: Kysely<Tables>
  connectorOf: ConnectorOf
  turns: Turns
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
}

/** Keeps one owned account in sync until it is stopped, or the account is no longer ours. Never throws. */
export class Keeper implements AsyncDisposable {
  readonly owned: OwnedAccount
  /** Fired when something was asked for: the keeper looks at once. */
  readonly nudge = new Nudge()
  readonly #options: KeeperOptions
  readonly #stop = new AbortController()
  readonly #report: RuntimeReport
  readonly #findConnector: () => Promise<Connector>
  readonly #refusals: LoginRefusals
  readonly #followOver: Follow
  readonly #log: Logger
  #restart = new AbortController()
  #failures = 0
  readonly finished: Promise<void>

  constructor(owned: OwnedAccount, options: KeeperOptions) {
    this.owned = owned
    this.#options = options
    this.#report = new RuntimeReport(options.db, owned)
    this.#log = options.log.child({ accountId: owned.id })
    this.#findConnector = options.connectorOf(owned)
    this.#refusals = new LoginRefusals(options.refusalSeconds)
    this.#followOver = options.follower.begin()
    this.finished = this.#run()
  }

  /** Begins again with changed settings or servers. */
  restart(): void {
    this.#restart.abort()
    this.nudge.fire()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.finished
  }

  async #run(): Promise<void> {
    const { db, lease } = this.#options
    const stop = () => this.#stop.abort()
    if (lease.aborted) stop()
    lease.addEventListener('abort', stop)
    await this.#keep()
    lease.removeEventListener('abort', stop)
    if (lease.aborted) return
    await releaseAccounts(db, [this.owned]).catch((error: unknown) =>
      this.#log.warn({ error }, 'Could not release the account; it is tried again'),
    )
  }

  async #keep(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      if (this.#restart.signal.aborted) this.#restart = new AbortController()
      const until = AbortSignal.any([this.#stop.signal, this.#restart.signal])
      try {
        const outcome = await this.#followOnce(until)
        if (outcome === 'caught_up') await this.#awaitTurn(until)
      } catch (error) {
        if (this.#stop.signal.aborted || error instanceof FenceLost) break
        if (!this.#restart.signal.aborted) await this.#recover(error)
      }
    }
  }

  /** Follows the account over one connection. @returns whether older mail was still to come when that was given up */
  async #followOnce(until: AbortSignal): Promise<'caught_up' | 'more'> {
    const { db, stallSeconds } = this.#options
    // This attempt serves every request made until now. A request that stayed would end each wait after a failure.
    await takeWanted(db, this.owned)
    const connector = await this.#findConnector()
    await this.#report.tell('connecting', `waiting for a connection to ${connector.host}`)
    using permit = await connector.acquire(until)
    using stall = new StallWatch(stallSeconds, until)
    try {
      return await this.#follow(connector, permit, stall)
    } catch (error) {
      // The reason counts, not the error of the connection that was ended for it.
      stall.signal.throwIfAborted()
      throw error
    }
  }

  async #follow(
    connector: Connector,
    permit: ConnectionPermit,
    stall: StallWatch,
  ): Promise<'caught_up' | 'more'> {
    const { db, turns, pollSeconds } = this.#options
    await using connected = await connector.connect(stall.signal)
    this.#refusals.clear()
    await recordMisconfigured(db, this.owned, null)
    return await this.#followOver({
      owned: this.owned,
      connected,
      syncWindowDays: connector.syncWindowDays,
      stall,
      permit,
      turns,
      nudge: this.nudge,
      report: this.#report,
      pollSeconds,
      log: this.#log,
      onCaughtUp: () => {
        this.#failures = 0
      },
    })
  }

  /** Waits until a pass is due, after the connection was given up to another account. */
  async #awaitTurn(until: AbortSignal): Promise<void> {
    const { pollSeconds } = this.#options
    await this.#report.tell(
      'live',
      `read in turns with other accounts of its server, every ${pollSeconds} s or later`,
    )
    this.nudge.clear()
    await pause(pollSeconds * 1_000, until, this.nudge.signal)
  }

  async #recover(error: unknown): Promise<void> {
    const failure = error instanceof ProviderFailure ? error : null
    this.#failures++
    this.#logFailure(error)
    const wait = Math.max(backoffMs(this.#failures), (failure?.retryAfterSeconds ?? 0) * 1_000)
    try {
      await this.#tellOf(error, wait)
    } catch (unwritten) {
      this.#log.warn({ error: unwritten }, 'Could not write down why the account is not followed')
    }
    this.nudge.clear()
    await pause(wait, this.#stop.signal, this.#restart.signal, this.nudge.signal)
  }

  async #tellOf(error: unknown, wait: number): Promise<void> {
    const { db } = this.#options
    const failure = error instanceof ProviderFailure ? error : null
    const isRefused = failure?.kind === 'login_failed' && this.#refusals.add(performance.now())
    if (isRefused || failure?.kind === 'grant_refused') {
      await recordRefusedGrant(db, this.owned, isRefused ? 'login_failed' : 'invalid_grant')
      return this.#stop.abort()
    }
    if (failure?.kind === 'not_allowed') await recordMisconfigured(db, this.owned, 'server_not_allowed')
    const at = new Date(Date.now() + wait).toISOString()
    await this.#report.tell('backoff', `${describeFailure(error)}; next try at ${at}`)
  }

  #logFailure(error: unknown): void {
    const fields = { error, attempt: this.#failures }
    if (error instanceof ProviderFailure)
      this.#log.info({ ...fields, kind: error.kind }, 'The provider failed')
    else this.#log.error(fields, 'Following an account failed')
  }
}
