import { ProviderFailure } from '../providers/failure.ts'

/**
 * Aborts its signal after a time without progress, so that no account hangs for ever. Its timer fires once for each
 * deadline that was moved, not at intervals: with many idle accounts, intervals alone would keep the process busy.
 */
export class StallWatch implements Disposable {
  readonly #until: AbortSignal
  readonly #seconds: number
  readonly #controller = new AbortController()
  readonly #end = () => this.#controller.abort(this.#until.reason)
  #timer: NodeJS.Timeout | null = null
  #deadline: number

  /** @param until also ends the watch */
  constructor(seconds: number, until: AbortSignal) {
    this.#until = until
    this.#seconds = seconds
    this.#deadline = performance.now() + seconds * 1_000
    if (until.aborted) this.#end()
    until.addEventListener('abort', this.#end, { once: true })
    this.#wait()
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  progressed(): void {
    this.#deadline = performance.now() + this.#seconds * 1_000
  }

  /** Allows a wait of this length. */
  allow(seconds: number): void {
    this.#deadline = performance.now() + (seconds + this.#seconds) * 1_000
  }

  [Symbol.dispose](): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#until.removeEventListener('abort', this.#end)
  }

  #wait(): void {
    const left = this.#deadline - performance.now()
    if (left <= 0)
      this.#controller.abort(new ProviderFailure('unavailable', `no progress for ${this.#seconds} seconds`))
    else this.#timer = setTimeout(() => this.#wait(), Math.ceil(left))
  }
}
