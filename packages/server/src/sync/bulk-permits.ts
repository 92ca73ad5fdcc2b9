/** The right to read large amounts of data, which a limited number of accounts have at a time. */
export interface BulkPermit extends Disposable {
  /** True while others wait; a long job then gives its permit back and asks for another. */
  readonly isWanted: boolean
}

/** A request for a permit, by an account of a tenant. It stays where it is in the queue when a wait is given up. */
export class BulkRequest {
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
 * Lets a limited number of accounts read large amounts of data at a time. The next permit goes to the tenant that has the
 * fewest, so that a tenant with many accounts does not keep others waiting; among equals, to the oldest request.
 */
export class BulkPermits {
  readonly #limit: number
  readonly #waiting: Waiter[] = []
  /** Number of permits that each tenant holds; tenants without a permit are absent. */
  readonly #running = new Map<string, number>()
  #total = 0

  constructor(atOnce: number) {
    this.#limit = atOnce
  }

  /**
   * @returns null if no permit was free within `waitMs`; the request keeps its position in the queue
   * @throws the signal's reason when it aborts first
   */
  async acquire(request: BulkRequest, waitMs: number, signal: AbortSignal): Promise<BulkPermit | null> {
    signal.throwIfAborted()
    request.askedAt ??= performance.now()
    if (this.#total < this.#limit) this.#begin(request.tenantId)
    else if (!(await this.#wait(request.tenantId, request.askedAt, waitMs, signal))) return null
    request.askedAt = null
    return this.#permit(request.tenantId)
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
      // A permit that was granted at this moment is taken.
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

  #permit(tenantId: string): BulkPermit {
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
