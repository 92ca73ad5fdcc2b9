const REFUSALS_TO_BELIEVE = 3
const SPAN_MS = 10 * 60_000

/**
 * Whether refused logins mean that the password is wrong: some servers refuse good ones while they are overloaded, so
 * it takes three refusals over at least ten minutes without a success.
 */
export class LoginRefusals {
  #first = 0
  #count = 0

  /** @returns true when the refusals are to be believed */
  add(now: number): boolean {
    if (this.#count === 0) this.#first = now
    this.#count++
    return this.#count >= REFUSALS_TO_BELIEVE && now - this.#first >= SPAN_MS
  }

  clear(): void {
    this.#count = 0
  }
}
