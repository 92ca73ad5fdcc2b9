const SUSPICIOUS_LOSS = 100
/** The second listing follows after this time, which is no longer than it takes to tell a move from a deletion. */
export const SECOND_LOOK_SECONDS = 20

/**
 * Losses of which the server may be mistaken, for instance because its storage is away for a moment: more than a hundred
 * messages that are also more than half of all, and mailboxes and address books that its list lacks. They are
 * believed if the server still claims them 20 seconds later, mailboxes that it answers to only over another connection. Lives
 * as long as the account is owned.
 */
export class Doubts {
  readonly #since = new Map<string, number>()
  /** Claims that were checked with the server once more after their time. */
  readonly #asked = new Set<string>()
  /** The connections over which claims were first made, of those that another connection has to confirm. */
  readonly #madeOver = new Map<string, object>()
  readonly #now: () => number

  /** @param now monotonic, in milliseconds */
  constructor(now = () => performance.now()) {
    this.#now = now
  }

  believes(claim: string, lost: number, all: number): boolean {
    const isSuspicious = lost > SUSPICIOUS_LOSS && lost * 2 > all
    if (isSuspicious) return this.believesInTime(claim)
    this.forget(claim)
    return true
  }

  /** As `believes`, for a claim that is suspicious whatever its size. */
  believesInTime(claim: string): boolean {
    if (!this.has(claim)) this.#since.set(claim, this.#now())
    if (!this.#isOver(claim)) return false
    this.forget(claim)
    return true
  }

  /**
   * As `believesInTime`, for a claim that may be a mistake of one connection alone, for as long as it lasts: another one has
   * to make it as well.
   */
  believesOverAnother(claim: string, connection: object): boolean {
    if (!this.has(claim)) this.#madeOver.set(claim, connection)
    if (this.#madeOver.get(claim) !== connection) return this.believesInTime(claim)
    if (!this.has(claim)) this.#since.set(claim, this.#now())
    return false
  }

  /** Whether a claim that was made over this connection waits for another one. */
  needsAnother(connection: object): boolean {
    return [...this.#madeOver.values()].includes(connection)
  }

  /** Whether it is time to check a claim that only a second listing can confirm. True once. */
  mustAsk(claim: string): boolean {
    if (!this.#isOver(claim) || this.#asked.has(claim)) return false
    this.#asked.add(claim)
    return true
  }

  forget(claim: string): void {
    this.#since.delete(claim)
    this.#asked.delete(claim)
    this.#madeOver.delete(claim)
  }

  /** Forgets the claims about sources that are not listed any more. A claim ends with a space and its source. */
  forgetUnlisted(sources: ReadonlySet<string>): void {
    for (const claim of this.#since.keys())
      if (!sources.has(claim.slice(claim.indexOf(' ') + 1))) this.forget(claim)
  }

  #isOver(claim: string): boolean {
    const since = this.#since.get(claim)
    return since !== undefined && this.#now() - since >= SECOND_LOOK_SECONDS * 1_000
  }

  has(claim: string): boolean {
    return this.#since.has(claim)
  }

  get count(): number {
    return this.#since.size
  }
}
