import type { LogFields, Logger } from '../kit/log.ts'
import { type MemoryUse, shareOf } from '../kit/own-memory.ts'
import type { LoadClass } from './load-class.ts'

/** The share of the memory beyond which requests of each class are refused. */
const SHARE_MAX: Record<LoadClass, number> = { costly: 0.8, read: 0.85, write: 0.9 }
/** V8 keeps garbage for long in a process that does little, since it does not know how near the limit is. */
const COLLECT_MILLISECONDS = 10_000
/** Requests end sooner: what is still used after refusing for so long is held by something else. */
const HELD_MILLISECONDS = 60_000
/** A process that uses less than this is far from its limit again. */
const RELIEVED_SHARE = 0.7

export interface MemoryWatchOptions {
  read(): MemoryUse
  collectGarbage(): void
  log: Logger
}

/**
 * Decides which requests are refused because memory runs short. Refusing helps only if requests hold the memory. Memory
 * that is still used after a minute is taken for granted, and only the rest is divided among the classes, so that a process
 * whose accounts need 85 % of its memory serves its callers nevertheless.
 */
export class MemoryWatch {
  readonly #options: MemoryWatchOptions
  #use: MemoryUse | null = null
  /** The share that something other than requests holds. */
  #heldShare = 0
  #shortSince: number | null = null
  #collectedAt = Number.NEGATIVE_INFINITY

  constructor(options: MemoryWatchOptions) {
    this.#options = options
  }

  /** Memory that was used at the last look. */
  get logFields(): LogFields {
    return { reason: this.#use?.of, bytes: this.#use?.bytes, limit: this.#use?.bytesMax }
  }

  isShort(loadClass: LoadClass): boolean {
    if (!this.#use) return false
    return shareOf(this.#use) - this.#heldShare > SHARE_MAX[loadClass] * (1 - this.#heldShare)
  }

  /** Looks at the memory. `now` is in milliseconds, on any clock that only goes forward. */
  look(now: number): void {
    this.#read()
    if (!this.isShort('costly')) {
      this.#shortSince = null
      return
    }
    this.#shortSince ??= now
    if (now - this.#collectedAt < COLLECT_MILLISECONDS) return
    this.#collectedAt = now
    this.#options.collectGarbage()
    this.#read()
    if (now - this.#shortSince >= HELD_MILLISECONDS) this.#takeForGranted()
  }

  #read(): void {
    this.#use = this.#options.read()
    const share = shareOf(this.#use)
    this.#heldShare = share < RELIEVED_SHARE ? 0 : Math.min(this.#heldShare, share)
  }

  #takeForGranted(): void {
    if (!this.#use || !this.isShort('costly')) return
    this.#heldShare = shareOf(this.#use)
    this.#shortSince = null
    this.#options.log.warn(
      this.logFields,
      'Memory stays near its limit after a minute of refusing requests, so they are accepted again. This process needs more memory, or less to do.',
    )
  }
}
