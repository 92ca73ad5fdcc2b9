import { randomBytes } from 'node:crypto'
import { type BegunCall, type CallLimits, FULL } from '../calls.ts'
import { IN_FLIGHT_MAX, createInFlight } from '../in-flight.ts'
import { createSpentWindows } from '../spent-windows.ts'
import type { Window } from '../windows.ts'
import type { RedisLink } from './link.ts'
import { BEGIN, RENEW } from './scripts.ts'
import { readCount } from './windows.ts'

/** Credentials whose leases are renewed at a time. */
const RENEWALS_AT_ONCE = 50
/** Ends of one credential that Redis is told in one call, so that it answers in time. */
const ENDS_IN_A_CALL = 50
/** Ends that Redis was not told, since it was gone; those of further requests are left to their leases. */
const OWED_MAX = 10_000

interface Request {
  name: string
  /** False while Redis cannot have heard of it, because it was gone. */
  mayBeKnown: boolean
}

interface Requests {
  running: Set<Request>
  /** Names of requests that ended, which Redis may still count. */
  owed: Set<string>
}

/** Tests use shorter times. */
export interface CallPace {
  /** Requests of a process that died no longer count after this. */
  leaseSeconds: number
  renewalSeconds: number
  windowMilliseconds: number
}

const PACE: CallPace = { leaseSeconds: 10, renewalSeconds: 3, windowMilliseconds: 60_000 }

export interface RedisCallsOptions {
  link: RedisLink
  /** Called when a call was not counted, since Redis was gone or slow. */
  onUncounted(): void
  pace?: Partial<CallPace>
}

/**
 * Bounds the calls of each credential over all processes that share a Redis. A request in progress has a lease there,
 * which its process renews until the last byte is out. This process counts its own requests as well, so that they are
 * bounded while Redis is gone; when it is back, it learns of those that are in progress.
 */
export class RedisCalls implements CallLimits, AsyncDisposable {
  readonly #options: RedisCallsOptions
  readonly #inFlight = createInFlight()
  readonly #spent = createSpentWindows()
  readonly #requests = new Map<string, Requests>()
  /** Tells the requests of this process from those of others. */
  readonly #processName = randomBytes(9).toString('base64url')
  readonly #pace: CallPace
  readonly #timer: NodeJS.Timeout
  #begun = 0
  #owedCount = 0
  #renewing: Promise<void> | null = null

  constructor(options: RedisCallsOptions) {
    this.#options = options
    this.#pace = { ...PACE, ...options.pace }
    this.#timer = setInterval(() => this.#renew(), this.#pace.renewalSeconds * 1000)
    this.#timer.unref()
    options.link.onBack(() => this.#renew())
  }

  get #leaseMilliseconds(): number {
    return this.#pace.leaseSeconds * 1000
  }

  get inFlightTotal(): number {
    return this.#inFlight.total
  }

  spentSeconds(window: Window): number {
    return this.#spent.secondsOf(window)
  }

  begin(credentialId: string, windows: readonly Window[]): BegunCall | Promise<BegunCall> {
    const leave = this.#inFlight.enter(credentialId)
    return leave ? this.#begin(nameOf(credentialId), windows, leave) : FULL
  }

  async #begin(name: string, windows: readonly Window[], leave: () => void): Promise<BegunCall> {
    const request: Request = {
      name: `${this.#processName}:${(this.#begun++).toString(36)}`,
      mayBeKnown: this.#options.link.isUp,
    }
    const limits = windows.map(({ limit }) => limit)
    const answer = await this.#options.link.run(
      BEGIN,
      [name, ...windows.map(window => window.name)],
      [IN_FLIGHT_MAX, this.#leaseMilliseconds, request.name, this.#pace.windowMilliseconds, ...limits],
    )
    const [isEntered, ...counted] = answer ?? []
    if (isEntered === 0) {
      leave()
      return FULL
    }
    if (isEntered === undefined) this.#options.onUncounted()
    this.#requestsOf(name).running.add(request)
    return {
      isFull: false,
      count: windows.length === 0 ? null : readCount(windows, counted, this.#spent),
      end: () => {
        if (!this.#requests.get(name)?.running.delete(request)) return
        leave()
        if (request.mayBeKnown) this.#tellEnd(name, request.name)
        this.#forget(name)
      },
    }
  }

  #tellEnd(name: string, ended: string): void {
    if (this.#owedCount < OWED_MAX) {
      this.#requestsOf(name).owed.add(ended)
      this.#owedCount++
    }
    void this.#options.link.command('ZREM', name, ended).then(answer => {
      if (answer !== undefined) this.#settle(name, [ended])
    })
  }

  /** Redis recorded these completions. */
  #settle(name: string, ended: readonly string[]): void {
    const { owed } = this.#requestsOf(name)
    for (const request of ended) if (owed.delete(request)) this.#owedCount--
    this.#forget(name)
  }

  #requestsOf(name: string): Requests {
    const known = this.#requests.get(name)
    if (known) return known
    const made = { running: new Set<Request>(), owed: new Set<string>() }
    this.#requests.set(name, made)
    return made
  }

  #forget(name: string): void {
    const { running, owed } = this.#requestsOf(name)
    if (running.size === 0 && owed.size === 0) this.#requests.delete(name)
  }

  #renew(): void {
    this.#renewing ??= this.#renewAll().finally(() => void (this.#renewing = null))
  }

  async #renewAll(): Promise<void> {
    const names = [...this.#requests.keys()]
    for (let from = 0; from < names.length && this.#options.link.isUp; from += RENEWALS_AT_ONCE)
      await Promise.all(names.slice(from, from + RENEWALS_AT_ONCE).map(name => this.#renewOne(name)))
  }

  async #renewOne(name: string): Promise<void> {
    const requests = this.#requests.get(name)
    if (!requests) return
    const owed = [...requests.owed]
    // One call at least: it renews as well.
    for (let from = 0; from === 0 || from < owed.length; from += ENDS_IN_A_CALL) {
      const ended = owed.slice(from, from + ENDS_IN_A_CALL)
      const running = [...requests.running]
      for (const request of running) request.mayBeKnown = true
      const args = [this.#leaseMilliseconds, ended.length, ...ended, ...running.map(request => request.name)]
      const answer = await this.#options.link.run(RENEW, [name], args)
      if (!answer) return
      this.#settle(name, ended)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer)
    await this.#renewing
  }
}

function nameOf(credentialId: string): string {
  return `requests:${credentialId}`
}
