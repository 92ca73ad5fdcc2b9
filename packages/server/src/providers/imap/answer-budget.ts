/** The amount that a server may send. Each number counts from the moment when it is granted. */
export interface Allowance {
  answers: number
  bytes: number
}

const NONE: Allowance = { answers: 0, bytes: 0 }
/**
 * Allowance besides the answers to commands: enough for news of thousands of messages at once, too little to keep a
 * core busy.
 */
const UNASKED_BURST: Allowance = { answers: 5000, bytes: 256 * 1024 }
const UNASKED_PER_SECOND: Allowance = { answers: 200, bytes: 16 * 1024 }
/** A connection that stays above its rate for this long is ended. */
const OVER_MS_MAX = 20_000
/** Share of the burst after whose recovery the time above the rate starts again. */
const REGAINED = 0.1

/**
 * The budget of one connection. Arriving bytes and answers are charged to the command in progress, then to a bucket
 * that refills at a constant rate. When the bucket is empty, reading waits until it has refilled.
 */
export class AnswerBudget {
  readonly #now: () => number
  #granted: Allowance = NONE
  #left: Allowance = { ...UNASKED_BURST }
  #refilledAt: number
  #overSince: number | null = null

  /** @param now milliseconds of a clock that never goes back */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now
    this.#refilledAt = now()
  }

  /** Sets the allowance of the command in progress; null when it has ended. */
  grant(allowance: Allowance | null): void {
    this.#granted = { ...(allowance ?? NONE) }
  }

  /** @returns the milliseconds to wait before reading on, or null if the connection has used up its time */
  charge(answers: number, bytes: number): number | null {
    const fromGrant = {
      answers: Math.min(answers, this.#granted.answers),
      bytes: Math.min(bytes, this.#granted.bytes),
    }
    this.#granted.answers -= fromGrant.answers
    this.#granted.bytes -= fromGrant.bytes
    const unasked = { answers: answers - fromGrant.answers, bytes: bytes - fromGrant.bytes }
    if (unasked.answers === 0 && unasked.bytes === 0) return 0

    const now = this.#now()
    this.#refill(now)
    this.#left.answers -= unasked.answers
    this.#left.bytes -= unasked.bytes
    const waitMs = Math.max(
      (-this.#left.answers / UNASKED_PER_SECOND.answers) * 1000,
      (-this.#left.bytes / UNASKED_PER_SECOND.bytes) * 1000,
    )
    if (waitMs <= 0) return 0
    this.#overSince ??= now
    return now - this.#overSince > OVER_MS_MAX ? null : waitMs
  }

  #refill(now: number): void {
    const seconds = (now - this.#refilledAt) / 1000
    this.#refilledAt = now
    const refilled = (name: keyof Allowance) =>
      Math.min(UNASKED_BURST[name], this.#left[name] + seconds * UNASKED_PER_SECOND[name])
    this.#left = { answers: refilled('answers'), bytes: refilled('bytes') }
    const isRegained = (name: keyof Allowance) => this.#left[name] >= UNASKED_BURST[name] * REGAINED
    if (isRegained('answers') && isRegained('bytes')) this.#overSince = null
  }
}
