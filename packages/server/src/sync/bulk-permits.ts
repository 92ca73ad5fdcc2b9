/** The right to do heavy work, which accounts have in turn. */
export interface Turn extends Disposable {
  /** True while others wait; a long job then gives its turn back and asks for another. */
  readonly isWanted: boolean
}

/** A place in the line, of an account of a tenant. It is kept when a wait is given up. */
export class Place {
  readonly tenantId: string
  askedAt: number | null = null

  constructor(tenantId: string) {
    this.tenantId = tenantId
  }
}

interface Waiter {
  tenantId: string
  askedAt: number
  go(): void
}

/**
 * Lets a bounded number of accounts read large amounts of mail at a time. The next is an account of the tenant that has
 * the fewest turns, so that a tenant with many accounts does not keep those of others waiting; among equals, the one that
 * asked first.
 */
export class Turns {
  readonly #limit: number
  readonly #waiting: Waiter[] = []
  /** The number of turns of each tenant that has any. */
  readonly #running = new Map<string, number>()
  #total = 0

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
    if (this.#total < this.#limit) this.#begin(place.tenantId)
    else if (!(await this.#wait(place.tenantId, place.askedAt, waitMs, signal))) return null
    place.askedAt = null
    return this.#turn(place.tenantId)
  }

  #begin(tenantId: string): void {
    this.#total++
    this.#running.set(tenantId, this.#countOf(tenantId) + 1)
  }

  #end(tenantId: string): void {
    this.#total--
    const left = this.#countOf(tenantId) - 1
    if (left > 0) this.#running.set(tenantId, left)
    else this.#running.delete(tenantId)
    const next = this.#takeNext()
    if (!next) return
    this.#begin(next.tenantId)
    next.go()
  }

  #countOf(tenantId: string): number {
    return this.#running.get(tenantId) ?? 0
  }

  #takeNext(): Waiter | undefined {
    let best = this.#waiting[0]
    for (const waiter of this.#waiting)
      if (best && this.#countOf(waiter.tenantId) < this.#countOf(best.tenantId)) best = waiter
    if (best) this.#waiting.splice(this.#waiting.indexOf(best), 1)
    return best
  }

  #wait(tenantId: string, askedAt: number, waitMs: number, signal: AbortSignal): Promise<boolean> {
    const { promise, resolve, reject } = Promise.withResolvers<boolean>()
    const waiter: Waiter = { tenantId, askedAt, go: () => resolve(true) }
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

  #turn(tenantId: string): Turn {
    const waiting = this.#waiting
    const end = () => this.#end(tenantId)
    let isOver = false
    return {
      get isWanted() {
        return waiting.length > 0
      },
      [Symbol.dispose]() {
        if (isOver) return
        isOver = true
        end()
      },
    }
  }
}
