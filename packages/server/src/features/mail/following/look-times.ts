/** In an account that others keep changing, a message is given up if it is still missing this long after a look. */
const HOLD_MS = 60_000
const RECORD_INTERVAL_MS = 1_000

/**
 * Keeps when looks began (`beginLook`), by this process's monotonic clock: no clock that can be set decides which
 * messages are lost. Lasts as long as the account is owned; the next owner starts over.
 */
export class LookTimes {
  #begun: Array<{ look: number; at: number }> = []

  /** @param now monotonic, in milliseconds */
  began(look: number, now = performance.now()): void {
    const latest = this.#begun.at(-1)
    if (!latest || now - latest.at >= RECORD_INTERVAL_MS) this.#begun.push({ look, at: now })
  }

  /** The latest look that began so long ago that messages missing since before it are lost; 0 if there is none. */
  findHeld(now = performance.now()): number {
    const index = this.#begun.findLastIndex(({ at }) => now - at >= HOLD_MS)
    // Older looks are never needed again, so few are kept.
    if (index > 0) this.#begun = this.#begun.slice(index)
    return index < 0 ? 0 : (this.#begun[0]?.look ?? 0)
  }
}
