/** The right to do heavy work, which accounts have in turn. */
export interface Turn extends Disposable {
  /** True while others wait; a long job then gives its turn back and asks for another. */
  readonly isWanted: boolean
}

/** A place in the line. It is kept when a wait is given up. */
export class Place {
  askedAt: number | null = null
}

interface Waiter {
  askedAt: number
  go(): void
}

/** Lets a bounded number of accounts read large amounts of mail at a time; the others wait in the order of asking. */
export class Turns {
  readonly #limit: number
  readonly #waiting: Waiter[] = []
  #running = 0

  constructor(atOnce: number) {
    this.#limit = atOnce
  }

  /**
   * @returns null when the turn did not come within `waitMs`; the place in the line is kept for the next time
   * @throws the signal's reason when it aborts first
   */
  async take(place: Place, waitMs: number, signal: AbortSignal): Promise<Turn | null> {
    signal.throwIfAborted()
    place.askedAt ??= performance.now()
    if (this.#running < this.#limit) this.#running++
    else if (!(await this.#wait(place.askedAt, waitMs, signal))) return null
    place.askedAt = null
    return this.#turn()
  }

  #wait(askedAt: number, waitMs: number, signal: AbortSignal): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>()
    const waiter: Waiter = { askedAt, go: () => resolve(true) }
    const behind = this.#waiting.findIndex(other => other.askedAt > askedAt)
    this.#waiting.splice(behind < 0 ? this.#waiting.length : behind, 0, waiter)
    const leave = (settle: () => void) => {
      const at = this.#waiting.indexOf(waiter)
      // A turn that was handed over at this moment is taken.
      if (at < 0) return
      this.#waiting.splice(at, 1)
      settle()
    }
    const timer = setTimeout(() => leave(() => resolve(false)), waitMs)
    const abandon = () => leave(() => reject(signal.reason))
    signal.addEventListener('abort', abandon, { once: true })
    return promise.finally(() => {
      clearTimeout(timer)
      signal.removeEventListener('abort', abandon)
    })
  }

  #turn(): Turn {
    const waiting = this.#waiting
    let isOver = false
    return {
      get isWanted() {
        return waiting.length > 0
      },
      [Symbol.dispose]: () => {
        if (isOver) return
        isOver = true
        const next = waiting.shift()
        if (next) next.go()
        else this.#running--
      },
    }
  }
}
