import { DatabaseError } from 'pg'
import type { LogFields, Logger } from '../kit/log.ts'
import { DatabaseUnavailable } from './unavailable.ts'

/** Seconds between two looks whether an outage is over. */
const LOOK_SECONDS = 1
/** Seconds between two lines about an outage that lasts. */
const REPORT_SECONDS = 60
/** Different messages that are counted apart. */
const MESSAGES_MAX = 50
const CAUSES_MAX = 5
/** The server ended an idle transaction. That is no outage, although the connection was lost. */
const IDLE_IN_TRANSACTION = '25P03'

export interface OutageLogOptions {
  log: Logger
  /** Asks the database for anything. Rejects while it is away. */
  ask: () => Promise<unknown>
  lookSeconds?: number
  reportSeconds?: number
}

interface Outage {
  startedAt: number
  reportedAt: number
  count: number
  counts: Map<string, number>
}

/**
 * Logs an outage of the database as a whole: a warning when it begins, one every minute, and one when it is over. A
 * failure because of it, such as that of each request, is counted by its message. Its own line is at level debug.
 */
export class OutageLog implements Disposable {
  /** Writes to the given log, but for what fails in an outage. */
  readonly log: Logger
  readonly #options: OutageLogOptions
  readonly #lookSeconds: number
  readonly #reportSeconds: number
  #outage: Outage | null = null
  #timer: NodeJS.Timeout | undefined
  #isDisposed = false

  constructor(options: OutageLogOptions) {
    this.#options = options
    this.#lookSeconds = options.lookSeconds ?? LOOK_SECONDS
    this.#reportSeconds = options.reportSeconds ?? REPORT_SECONDS
    this.log = this.#filter(options.log)
  }

  #filter(lines: Logger): Logger {
    const filtered = (level: 'warn' | 'error') => (first: LogFields | string, message?: string) => {
      if (typeof first === 'string') return lines[level](first)
      const isCounted = this.#count(first.error, message ?? '')
      return lines[isCounted ? 'debug' : level](first, message ?? '')
    }
    return {
      debug: lines.debug,
      info: lines.info,
      warn: filtered('warn'),
      error: filtered('error'),
      child: fields => this.#filter(lines.child(fields)),
    }
  }

  /** Counts a failure of an outage. Returns false if the error has another cause. */
  #count(error: unknown, message: string): boolean {
    if (this.#isDisposed || !isAway(error)) return false
    const outage = (this.#outage ??= this.#begin(error))
    const { counts } = outage
    const name = counts.has(message) || counts.size < MESSAGES_MAX ? message : 'others'
    counts.set(name, (counts.get(name) ?? 0) + 1)
    outage.count += 1
    return true
  }

  #begin(error: unknown): Outage {
    const now = performance.now()
    this.#options.log.warn(
      { error },
      'The database cannot be reached. What fails because of it is counted, and reported every minute',
    )
    this.#lookLater(0)
    return { startedAt: now, reportedAt: now, count: 0, counts: new Map() }
  }

  #lookLater(seen: number): void {
    this.#timer = setTimeout(() => void this.#look(seen), this.#lookSeconds * 1000).unref()
  }

  /** @param seen failures at the last look. While there are more, the outage is not over, even if the database answers */
  async #look(seen: number): Promise<void> {
    const isBack = await this.#options.ask().then(
      () => true,
      () => false,
    )
    const outage = this.#outage
    if (!outage || this.#isDisposed) return
    if (isBack && outage.count === seen) {
      this.#outage = null
      return this.#report(outage, 'The database can be reached again')
    }
    if (performance.now() - outage.reportedAt >= this.#reportSeconds * 1000) {
      outage.reportedAt = performance.now()
      this.#report(outage, 'The database still cannot be reached')
    }
    this.#lookLater(outage.count)
  }

  /** Counts since the beginning of the outage. */
  #report({ startedAt, count, counts }: Outage, message: string): void {
    const byCount = [...counts].toSorted(([, one], [, other]) => other - one)
    const names = byCount.map(([name, times]) => `${times} × ${name}`)
    this.#options.log.warn(
      { seconds: Math.round((performance.now() - startedAt) / 1000), count, names },
      message,
    )
  }

  /** Writes every line again. */
  [Symbol.dispose](): void {
    this.#isDisposed = true
    clearTimeout(this.#timer)
  }
}

function isAway(error: unknown): boolean {
  let cause = error
  for (let depth = 0; depth < CAUSES_MAX && cause instanceof Error; depth += 1) {
    if (cause instanceof DatabaseUnavailable) return !isIdleTransaction(cause.cause)
    cause = cause.cause
  }
  return false
}

function isIdleTransaction(error: unknown): boolean {
  return error instanceof DatabaseError && error.code === IDLE_IN_TRANSACTION
}
