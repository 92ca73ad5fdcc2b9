/** In an account that others keep changing, a message is given up if it is still missing this long after a look began. */
const HOLD_MS = 60_000
const RECORD_INTERVAL_MS = 1_000

/**
 * When looks began (`beginLook`), by this process's monotonic clock: no clock that somebody sets decides what is lost.
 * Lives as long as the account is owned; the next owner waits again.
 */
export class LookTimes {
  #begun: Array<{ look: number; at: number }> = []

  /** @param now monotonic, in milliseconds */
  began(look: number, now = performance.now()): void {
    const latest = this.#begun.at(-1)
    if (!latest || now - latest.at >= RECORD_INTERVAL_MS) this.#begun.push({ look, at: now })
  }

  /** The latest look that began long enough ago for what was missing before it to be lost; 0 where none did. */
  findHeld(now = performance.now()): number {
    const index = this.#begun.findLastIndex(({ at }) => now - at >= HOLD_MS)
    // Older ones are never asked for again, which bounds how many are kept.
    if (index > 0) this.#begun = this.#begun.slice(index)
    return index < 0 ? 0 : (this.#begun[0]?.look ?? 0)
  }
}
