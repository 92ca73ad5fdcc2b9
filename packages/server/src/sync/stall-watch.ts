import { ProviderFailure } from '../providers/failure.ts'

const CHECK_INTERVAL_MS_MAX = 5_000

/** Aborts its signal when nothing got anywhere for so long, so that no state of an account lasts for ever. */
export class StallWatch implements Disposable {
  readonly signal: AbortSignal
  readonly #seconds: number
  readonly #controller = new AbortController()
  readonly #timer: NodeJS.Timeout
  #deadline: number

  /** @param until ends the watch, too */
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

  /** A wait of this length is no stall. */
  allow(seconds: number): void {
    this.#deadline = performance.now() + (seconds + this.#seconds) * 1_000
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
