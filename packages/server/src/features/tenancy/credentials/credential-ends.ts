import type { Db } from '../../../database/pool.ts'
import { pause } from '../../../processes/nudge.ts'
import type { Clock } from '../../../kit/clock.ts'
import type { Logger } from '../../../kit/log.ts'
import { listEndedCredentials } from './store.ts'

/** With a second for the statement, a credential that ended is seen within 5 seconds. */
const LOOK_MILLISECONDS = 2_000

/** Aborts when the credential has ended. Disposing it ends the watch. */
export interface CredentialWatch extends Disposable {
  signal: AbortSignal
}

/** Watches the credentials of long requests: one statement checks all of them. */
export class CredentialEnds {
  readonly #options: { db: Db; clock: Clock; log: Logger }
  readonly #watched = new Map<string, Set<AbortController>>()
  #isLooking = false

  constructor(options: { db: Db; clock: Clock; log: Logger }) {
    this.#options = options
  }

  watch(credentialId: string): CredentialWatch {
    const ended = new AbortController()
    const watching = this.#watched.get(credentialId) ?? new Set()
    this.#watched.set(credentialId, watching.add(ended))
    this.#look()
    return {
      signal: ended.signal,
      [Symbol.dispose]: () => {
        watching.delete(ended)
        if (watching.size === 0 && this.#watched.get(credentialId) === watching)
          this.#watched.delete(credentialId)
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
        const ids = await listEndedCredentials(db, [...this.#watched.keys()], new Date(clock.now()))
        for (const id of ids) this.#watched.get(id)?.forEach(ended => ended.abort())
      } catch (error) {
        log.warn({ error }, 'Could not look for ended credentials')
      }
      await pause(LOOK_MILLISECONDS)
    }
  }
}
