import { ProviderFailure } from '../providers/failure.ts'

const CHECK_INTERVAL_MS_MAX = 5_000

/** Aborts its signal after a time without progress, so that no account hangs for ever. */
export class StallWatch implements Disposable {
  readonly signal: AbortSignal
  readonly #seconds: number
  readonly #controller = new AbortController()
  readonly #timer: NodeJS.Timeout
  #deadline: number

  /** @param until also ends the watch */
  constructor(seconds: number, until: AbortSignal) {
    this.#seconds = seconds
    this.#deadline = performance.now() + seconds * 1_000
    this.signal = AbortSignal.any([until, this.#controller.signal])
    this.#timer = setInterval(
      () => {
        if (performance.now() < this.#deadline) return
        this.#controller.abort(new ProviderFailure('unavailable', `no progress for ${this.#seconds} seconds`))
      },
      Math.min(CHECK_INTERVAL_MS_MAX, seconds * 250),
    )
  }

  progressed(): void {
    this.#deadline = performance.now() + this.#seconds * 1_000
  }

  /** Allows a wait of this length. */
  allow(seconds: number): void {
    this.#deadline = performance.now() + (seconds + this.#seconds) * 1_000
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
