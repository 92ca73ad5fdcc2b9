const REFUSALS_TO_BELIEVE = 3
export const DEFAULT_REFUSAL_SECONDS = 600

/**
 * Decides whether refused logins mean that the password is wrong. Some servers refuse good ones while they are
 * overloaded, so it takes three refusals over some time (ten minutes by default) without a success.
 */
export class LoginRefusals {
  readonly #spanMs: number
  #first = 0
  #count = 0

  constructor(spanSeconds = DEFAULT_REFUSAL_SECONDS) {
    this.#spanMs = spanSeconds * 1_000
  }

  /** @returns whether the password is taken to be wrong */
  add(now: number): boolean {
    if (this.#count === 0) this.#first = now
    this.#count++
    return this.#count >= REFUSALS_TO_BELIEVE && now - this.#first >= this.#spanMs
  }

  clear(): void {
    this.#count = 0
  }
}
