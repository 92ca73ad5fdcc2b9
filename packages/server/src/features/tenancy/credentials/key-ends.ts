import type { Db } from '../../../database/pool.ts'
import { pause } from '../../../jobs/nudge.ts'
import type { Clock } from '../../../kit/clock.ts'
import type { Logger } from '../../../kit/log.ts'
import { listEndedKeys } from './store.ts'

/** With a second for the statement, a key that ended is seen within 5 seconds. */
const LOOK_MILLISECONDS = 2_000

/** Aborts when the key has ended. Disposing it ends the watch. */
export interface KeyWatch extends Disposable {
  signal: AbortSignal
}

/** Watches the keys of requests that last: one statement asks for all of them. */
export class KeyEnds {
  readonly #options: { db: Db; clock: Clock; log: Logger }
  readonly #watched = new Map<string, Set<AbortController>>()
  #isLooking = false

  constructor(options: { db: Db; clock: Clock; log: Logger }) {
    this.#options = options
  }

  watch(keyId: string): KeyWatch {
    const ended = new AbortController()
    const watching = this.#watched.get(keyId) ?? new Set()
    this.#watched.set(keyId, watching.add(ended))
    this.#look()
    return {
      signal: ended.signal,
      [Symbol.dispose]: () => {
        watching.delete(ended)
        if (watching.size === 0 && this.#watched.get(keyId) === watching) this.#watched.delete(keyId)
      },
    }
  }

  #look(): void {
    if (this.#isLooking) return
    this.#isLooking = true
    void this.#keepLooking().finally(() => (this.#isLooking = false))
  }

  async #keepLooking(): Promise<void> {
    const { db, clock, log } = this.#options
    while (this.#watched.size > 0) {
      try {
        const keyIds = await listEndedKeys(db, [...this.#watched.keys()], new Date(clock.now()))
        for (const keyId of keyIds) this.#watched.get(keyId)?.forEach(ended => ended.abort())
      } catch (error) {
        log.warn({ error }, 'Could not look for ended keys')
      }
      await pause(LOOK_MILLISECONDS)
    }
  }
}
