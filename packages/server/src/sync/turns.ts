/** The right to do heavy work, in turns. */
export interface Turn extends Disposable {
  /** True while others wait; a long job then gives its turn back and asks for another. */
  readonly isWanted: boolean
}

/** Lets a bounded number of accounts read large amounts of mail at a time; the others wait in the order of asking. */
export class Turns {
  readonly #limit: number
  readonly #waiting: Array<() => void> = []
  #running = 0

  constructor(atOnce: number) {
    this.#limit = atOnce
  }

  /** @throws the signal's reason when it aborts first */
  async take(signal: AbortSignal): Promise<Turn> {
    signal.throwIfAborted()
    if (this.#running < this.#limit) this.#running++
    else await this.#wait(signal)
    return this.#turn()
  }

  #wait(signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const go = () => {
        signal.removeEventListener('abort', abandon)
        resolve()
      }
      const abandon = () => {
        this.#waiting.splice(this.#waiting.indexOf(go), 1)
        reject(signal.reason)
      }
      signal.addEventListener('abort', abandon, { once: true })
      this.#waiting.push(go)
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
        if (next) next()
        else this.#running--
      },
    }
  }
}
