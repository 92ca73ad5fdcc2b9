const REFUSALS_TO_BELIEVE = 3
export const DEFAULT_REFUSAL_SECONDS = 600

/**
 * Whether refused logins mean that the password is wrong: some servers refuse good ones while they are overloaded, so
 * it takes three refusals over a time (ten minutes by default) without a success.
 */
export class LoginRefusals {
  readonly #spanMs: number
  #first = 0
  #count = 0

  constructor(spanSeconds = DEFAULT_REFUSAL_SECONDS) {
    this.#spanMs = spanSeconds * 1_000
  }

  /** @returns true when the refusals are to be believed */
  add(now: number): boolean {
    if (this.#count === 0) this.#first = now
    this.#count++
    return this.#count >= REFUSALS_TO_BELIEVE && now - this.#first >= this.#spanMs
  }

  clear(): void {
    this.#count = 0
  }
}
