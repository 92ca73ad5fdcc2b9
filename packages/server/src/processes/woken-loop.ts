import type { Logger } from '../kit/log.ts'
import { Nudge, pause } from './nudge.ts'

const RETRY_SECONDS = 1
const RETRY_SECONDS_MAX = 10
/** Minimum interval between the starts of two looks, however often they are asked for. A loop may have its own. */
const LOOK_INTERVAL_MILLISECONDS = 20
/** A look that names a later time is repeated after this long. */
const POLL_SECONDS_MAX = 3600

export interface WokenLoopOptions {
  /**
   * Does what is due. Returns the seconds until the next look: 0 if more is due now, otherwise the poll interval. Must
   * return soon after the signal aborts. First called after the constructor has returned.
   */
  look(signal: AbortSignal): Promise<number>
  /** The log message for a failed look. */
  failure: string
  log: Logger
  /** Lets something else wake the loop until it is disposed, such as a pulse. Called once. */
  listen?(wake: () => void): Disposable
  /** Between the starts of two looks. */
  intervalMilliseconds?: number
  /** The pause after a failed look doubles up to this many seconds. */
  retrySecondsMax?: number
}

/**
 * Looks for due work again and again: at once, when woken, and when the last look asked for it. Wakes save time; the
 * poll is the guarantee. One look runs at a time, and each wake is followed by a look that begins after it. A failed
 * look is repeated after a pause, which a wake does not shorten. Disposing waits for the look in progress.
 */
export class WokenLoop implements AsyncDisposable {
  readonly #options: WokenLoopOptions
  readonly #stop = new AbortController()
  readonly #nudge = new Nudge()
  readonly #firstLook = Promise.withResolvers<void>()
  readonly #listening: Disposable | undefined
  readonly #ended: Promise<void>

  constructor(options: WokenLoopOptions) {
    this.#options = options
    this.#listening = options.listen?.(() => this.wake())
    this.#ended = Promise.resolve().then(() => this.#run())
  }

  /** Resolves when the first look has ended, successful or not, or when the loop was disposed. */
  get firstLook(): Promise<void> {
    return this.#firstLook.promise
  }

  /** Asks for a look that begins after this call. Returns at once and never throws. */
  wake(): void {
    this.#nudge.fire()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listening?.[Symbol.dispose]()
    this.#stop.abort()
    await this.#ended
  }

  async #run(): Promise<void> {
    const { retrySecondsMax = RETRY_SECONDS_MAX, look, failure, log } = this.#options
    const { intervalMilliseconds = LOOK_INTERVAL_MILLISECONDS } = this.#options
    const stopped = this.#stop.signal
    let retrySeconds = Math.min(RETRY_SECONDS, retrySecondsMax)
    while (!stopped.aborted) {
      const startedAt = performance.now()
      this.#nudge.clear()
      try {
        const seconds = Math.min(await look(stopped), POLL_SECONDS_MAX)
        const dueAt = performance.now() + seconds * 1_000
        retrySeconds = Math.min(RETRY_SECONDS, retrySecondsMax)
        this.#firstLook.resolve()
        await pause(dueAt - performance.now(), stopped, this.#nudge.signal)
        // In this order, so that the interval wakes a quiet process only if something asked for a look during it.
        const tooEarly = startedAt + intervalMilliseconds - performance.now()
        if (tooEarly > 0) await pause(tooEarly, stopped)
      } catch (error) {
        if (!stopped.aborted) log.warn({ error }, failure)
        this.#firstLook.resolve()
        await pause(retrySeconds * 1_000, stopped)
        retrySeconds = Math.min(2 * retrySeconds, retrySecondsMax)
      }
    }
    this.#firstLook.resolve()
  }
}
