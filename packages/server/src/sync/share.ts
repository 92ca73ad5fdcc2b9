import type { RawBuilder } from 'kysely'
import type { Db } from '../database/pool.ts'
import type { Lease } from '../processes/lease.ts'
import type { Logger } from '../kit/log.ts'
import type { Keepers } from './keepers.ts'
import { claimAccounts } from '../accounts/halves/ownership.ts'
import { planShare } from './spread.ts'
import { readSpread, type Spread } from '../accounts/spread.ts'
import { weighAccounts } from '../accounts/weigh-accounts.ts'

/** The timing of an even spread. Tests use shorter times. */
export interface SharePace {
  /** Interval at which a process compares what it follows with the others, and with the tables. */
  checkSeconds: number
  /** Interval at which a process that follows too much lets some accounts leave. */
  stepSeconds: number
  /** Accounts leave only after the same processes have lived for this long, so that a restart moves few. */
  settleSeconds: number
}

export const SHARE_PACE: SharePace = { checkSeconds: 15, stepSeconds: 2, settleSeconds: 10 }
const CLAIM_AT_ONCE = 50
/** In one step, a process releases at most this part of its accounts, and at most this many. */
const LEAVING_PART = 0.05
const LEAVING_MAX = 50
/** Interval of looks while accounts are left to other processes. */
const WAIT_SECONDS = 1
/** Accounts that the other processes leave unclaimed for this long are claimed by a process that has its share. */
const PATIENCE_SECONDS = 5
/** After that, it is a while before accounts are entrusted to the others again. */
const MISTRUST_SECONDS = 60
const WEIGHED_AT_ONCE = 50

export interface ShareOptions {
  db: Db
  lease: Lease
  keepers: Keepers
  /** The work that a row of `account` makes, in SQL. */
  weight: RawBuilder<number>
  log: Logger
}

/**
 * Claims accounts that nobody follows, up to an even share of all, and lets accounts leave that are more than that. It
 * belongs to one lease.
 */
export class ShareTaker {
  readonly #options: ShareOptions
  readonly #pace: SharePace
  #dueAt = Number.NEGATIVE_INFINITY
  /** Processes that the last look found alive, and since when. */
  #others = ''
  #othersSince = performance.now()
  /** Accounts that wait to be claimed, since when the others claimed none, and whether that is too long. */
  #waiting = { count: 0, since: 0, isLate: false }
  #mistrustsUntil = Number.NEGATIVE_INFINITY
  #releasedAt = Number.NEGATIVE_INFINITY
  #isReporting = false
  #hasEnded = false

  constructor(options: ShareOptions, pace: SharePace) {
    this.#options = options
    this.#pace = pace
    options.lease.report(options.keepers.load)
  }

  /** Seconds until this process should compare itself with the others, or claim more. */
  get untilDueSeconds(): number {
    return Math.max(0, this.#dueAt - performance.now()) / 1_000
  }

  /** Shows the others what this process follows, once for all changes of this moment. */
  reportSoon(): void {
    if (this.#isReporting) return
    this.#isReporting = true
    setImmediate(() => {
      this.#isReporting = false
      if (!this.#hasEnded) this.#options.lease.report(this.#options.keepers.load)
    })
  }

  /** Wants no share from now on. The others count without this process. */
  end(): void {
    this.#hasEnded = true
    this.#options.lease.report(null)
  }

  /**
   * Claims accounts up to the share of this process, or lets accounts beyond it leave. `untilDueSeconds` is the time
   * until the next call.
   */
  async take(): Promise<void> {
    this.#dueAt = Number.NEGATIVE_INFINITY
    const seconds = await this.#take()
    this.#dueAt = performance.now() + seconds * 1_000
  }

  async #take(): Promise<number> {
    const { db, lease, keepers } = this.#options
    const { checkSeconds, stepSeconds } = this.#pace
    const spread = await readSpread(db, lease.id)
    this.#noteOthers(spread)
    const mine = { staying: keepers.load.weight, leaving: keepers.leaving.weight }
    const { room, excess } = planShare(mine, spread)
    if (spread.unowned > 0) return this.#claim(spread.unowned, room)
    this.#waiting.count = 0
    if (spread.others.size > 0) await this.#weigh()
    if (excess === 0) return checkSeconds
    if (!this.#mayRelease()) return stepSeconds
    this.#release(excess)
    // Without any that leave, all are too heavy to be moved.
    return keepers.leaving.accounts === 0 ? checkSeconds : stepSeconds
  }

  #noteOthers({ others }: Spread): void {
    const ids = [...others.keys()].toSorted().join()
    if (ids === this.#others) return
    this.#others = ids
    this.#othersSince = performance.now()
  }

  #mayRelease(): boolean {
    const now = performance.now()
    const { stepSeconds, settleSeconds } = this.#pace
    const isSettled = now >= this.#othersSince + settleSeconds * 1_000 && now >= this.#mistrustsUntil
    return isSettled && now >= this.#releasedAt + stepSeconds * 1_000
  }

  async #claim(unowned: number, room: number): Promise<number> {
    const { db, lease, keepers, weight, log } = this.#options
    const now = performance.now()
    if (this.#waiting.count === 0 || unowned < this.#waiting.count)
      this.#waiting = { count: unowned, since: now, isLate: false }
    this.#waiting.count = unowned
    if (room === 0 && !this.#waiting.isLate) {
      if (now - this.#waiting.since < PATIENCE_SECONDS * 1_000) return WAIT_SECONDS
      log.info({ count: unowned }, 'Other processes do not claim their accounts; this one does')
      this.#waiting.isLate = true
      this.#mistrustsUntil = now + MISTRUST_SECONDS * 1_000
    }
    const limit = Math.min(CLAIM_AT_ONCE, room === 0 ? unowned : Math.ceil(room))
    const claimed = await claimAccounts(db, lease.id, limit, weight)
    // If the lease lapsed before the claim was answered, the accounts belong to a dead instance and are taken from it.
    if (lease.lapsed.aborted) return 0
    this.#waiting.count = Math.max(0, unowned - claimed.length)
    for (const account of claimed) keepers.keep(account, lease.lapsed)
    return claimed.length > 0 ? 0 : WAIT_SECONDS
  }

  #release(excess: number): void {
    const { keepers } = this.#options
    this.#releasedAt = performance.now()
    const part = Math.ceil(keepers.count * LEAVING_PART)
    keepers.release(excess, Math.min(part, LEAVING_MAX))
  }

  /** Weighs a few accounts again, which may have grown. */
  async #weigh(): Promise<void> {
    const { db, keepers, weight } = this.#options
    const weights = await weighAccounts(db, keepers.listWeighedFirst(WEIGHED_AT_ONCE), weight)
    for (const weighed of weights) keepers.weigh(...weighed)
  }
}
