import { setTimeout as sleep } from 'node:timers/promises'

/** Keys that wait at most. Others are dropped meanwhile: accounts are polled as well. */
const KEYS_MAX = 10_000
/** The pause after each call. */
const PAUSE_MILLISECONDS = 20

export interface FoldedOptions<Value> {
  /** Stores what has come since the last call. One call at a time. */
  store(values: ReadonlyMap<string, Value>): Promise<void>
  /** Called with an error of `store`; what it was given is lost. */
  onError(error: unknown): void
  /** Chooses of two values of one key. The later one by default. */
  fold?(before: Value, after: Value): Value
  keysMax?: number
}

/**
 * Folds what comes by its key, and stores it at once and then after each pause, so that a burst costs few calls and little
 * memory.
 */
export class Folded<Value> {
  readonly #options: FoldedOptions<Value>
  #waiting = new Map<string, Value>()
  #isStoring = false

  constructor(options: FoldedOptions<Value>) {
    this.#options = options
  }

  get size(): number {
    return this.#waiting.size
  }

  /** Returns false if there was no room. */
  add(key: string, value: Value): boolean {
    const { fold, keysMax = KEYS_MAX } = this.#options
    const before = this.#waiting.get(key)
    if (before === undefined && this.#waiting.size >= keysMax) return false
    this.#waiting.set(key, before === undefined || !fold ? value : fold(before, value))
    if (!this.#isStoring) void this.#storeAll()
    return true
  }

  async #storeAll(): Promise<void> {
    this.#isStoring = true
    // The other items of the same push are taken as well.
    await Promise.resolve()
    while (this.#waiting.size > 0) {
      const values = this.#waiting
      this.#waiting = new Map()
      await this.#options.store(values).catch((error: unknown) => this.#options.onError(error))
      await sleep(PAUSE_MILLISECONDS)
    }
    this.#isStoring = false
  }
}
