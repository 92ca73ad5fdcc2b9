const SUSPICIOUS_LOSS = 100
/** The server is asked again after this time, which is no longer than it takes to tell a move from a deletion. */
export const SECOND_LOOK_SECONDS = 20

/**
 * Losses so large that the server may be mistaken, as one whose storage is away for a moment: more than a hundred
 * messages, and more than half of what there was, are believed to be gone when the server still says so 20 seconds
 * later. Lives as long as the account is owned.
 */
export class Doubts {
  readonly #since = new Map<string, number>()

  /** @param now monotonic, in milliseconds */
  believes(claim: string, lost: number, all: number, now = performance.now()): boolean {
    const since = this.#since.get(claim)
    const isSuspicious = lost > SUSPICIOUS_LOSS && lost * 2 > all
    if (isSuspicious && since === undefined) this.#since.set(claim, now)
    if (isSuspicious && now - (since ?? now) < SECOND_LOOK_SECONDS * 1_000) return false
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
