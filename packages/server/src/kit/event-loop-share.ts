/** Time in one turn of the event loop for all that is read by way of one share. */
const SLICE_MS = 2

/**
 * Shares the time that a process spends on reading from servers. In each turn of the event loop one connection
 * works for at most one slice; the others wait in order, and everything else runs in between.
 */
export class EventLoopShare {
  readonly #waiting: Array<{ holder: object; resolve: () => void }> = []
  #holder: object | null = null
  #begunAt = 0

  /** @returns null if `holder` may work at once, otherwise a promise to wait for */
  enter(holder: object): Promise<void> | null {
    if (this.#holder === null) {
      this.#begin(holder)
      return null
    }
    const isFree = this.#holder === holder || this.#waiting.length === 0
    if (isFree && performance.now() - this.#begunAt < SLICE_MS) {
      this.#holder = holder
      return null
    }
    return new Promise(resolve => this.#waiting.push({ holder, resolve }))
  }

  #begin(holder: object): void {
    this.#holder = holder
    this.#begunAt = performance.now()
    setImmediate(this.#next)
  }

  readonly #next = () => {
    this.#holder = null
    const first = this.#waiting.shift()
    if (!first) return
    this.#begin(first.holder)
    first.resolve()
  }
}
