/**
 * Factor by which the time between two passes may exceed the usual one while the server reports the changes of all
 * mailboxes: 15 minutes instead of 45 seconds.
 */
const PASS_FACTOR_MAX = 20
const GROWTH = 4
/** A report may come late by chance, but not this often. */
const LATE_REPORTS_MAX = 3
/** After a server has stopped reporting this often, since there is too much to report, it gets no more requests. */
const OVERFLOWS_MAX = 3

/**
 * Trust in the reports of a server (NOTIFY, RFC 5465). Kept over the connections of an account.
 *
 * The time between passes grows fourfold with each pass that finds only changes that the server had reported. A pass
 * that finds more makes it short again. A server that does not report a change at all, or reports several too late,
 * loses its trust: the account is polled like one of any other server. Failures from before the time had grown to its
 * limit no longer count: a change just before a pass is found by it before its report has come.
 */
export class NotifyTrust {
  readonly #factorMax: number
  #factor = 1
  #late = 0
  #overflows = 0
  #isLost = false

  constructor(factorMax = PASS_FACTOR_MAX) {
    this.#factorMax = factorMax
  }

  /** Factor by which the time between two passes may exceed the usual one. */
  get passFactor(): number {
    return this.#factor
  }

  get isLost(): boolean {
    return this.#isLost
  }

  /** Whether reports are still to be requested from the server. */
  get isWorthAsking(): boolean {
    return this.#overflows < OVERFLOWS_MAX
  }

  /** A pass found nothing that the server had not reported. */
  confirmed(): void {
    if (this.#isLost) return
    this.#factor = Math.min(this.#factor * GROWTH, this.#factorMax)
    if (this.#factor < this.#factorMax) return
    this.#late = 0
    this.#overflows = 0
  }

  /** The server reported a change too late, or may have left one out. */
  late(): void {
    this.#factor = 1
    if (++this.#late >= LATE_REPORTS_MAX) this.lose()
  }

  /** The server did not report a change. */
  lose(): void {
    this.#factor = 1
    this.#isLost = true
  }

  /** The server stopped reporting (RFC 5465 section 5.8). */
  overflowed(): void {
    this.#factor = 1
    this.#overflows++
  }
}
