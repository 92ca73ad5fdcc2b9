import type { Db } from '../../../database/pool.ts'
import { pause } from '../../../processes/nudge.ts'
import { listEnded } from './store.ts'

const LOOK_MILLISECONDS = 250

/** Lets callers wait for the ends of sends: one statement reads all of them. */
export class EndWatch {
  readonly #db: Db
  readonly #waiting = new Map<string, Set<() => void>>()
  #isLooking = false

  constructor(db: Db) {
    this.#db = db
  }

  /** Resolves when the send has ended, or is gone, when the seconds are over, or when the signal aborts. */
  async wait(id: string, seconds: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return
    const ended = Promise.withResolvers<void>()
    const waiting = this.#waiting.get(id) ?? new Set()
    this.#waiting.set(id, waiting.add(ended.resolve))
    this.#look()
    const late = setTimeout(ended.resolve, seconds * 1_000)
    const end = () => ended.resolve()
    signal.addEventListener('abort', end, { once: true })
    try {
      await ended.promise
    } finally {
      clearTimeout(late)
      signal.removeEventListener('abort', end)
      waiting.delete(ended.resolve)
      if (waiting.size === 0 && this.#waiting.get(id) === waiting) this.#waiting.delete(id)
    }
  }

  #look(): void {
    if (this.#isLooking) return
    this.#isLooking = true
    void this.#keepLooking().finally(() => (this.#isLooking = false))
  }

  async #keepLooking(): Promise<void> {
    while (this.#waiting.size > 0) {
      // Callers answer with their own reading, so a look that fails only makes them wait.
      const ended = await listEnded(this.#db, [...this.#waiting.keys()]).catch(() => [])
      for (const id of ended) for (const tell of this.#waiting.get(id) ?? []) tell()
      await pause(LOOK_MILLISECONDS)
    }
  }
}
