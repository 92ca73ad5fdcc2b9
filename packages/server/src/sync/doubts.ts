const SUSPICIOUS_LOSS = 100
const DOUBT_MS = 5 * 60_000

/**
 * Losses so large that the server may be mistaken, as one whose storage is away: more than a
 * hundred messages, and more than half of what there was, are believed to be gone once the server has said so for five
 * minutes. Lives as long as the account is owned.
 */
export class Doubts {
  readonly #since = new Map<string, number>()

  /** @param now monotonic, in milliseconds */
  believes(claim: string, lost: number, all: number, now = performance.now()): boolean {
    const since = this.#since.get(claim)
    const isSuspicious = lost > SUSPICIOUS_LOSS && lost * 2 > all
    if (isSuspicious && since === undefined) this.#since.set(claim, now)
    if (isSuspicious && now - (since ?? now) < DOUBT_MS) return false
    this.#since.delete(claim)
    return true
  }

  has(claim: string): boolean {
    return this.#since.has(claim)
  }

  get count(): number {
    return this.#since.size
  }
}
