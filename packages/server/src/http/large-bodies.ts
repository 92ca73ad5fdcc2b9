/** Bytes of large bodies that are read or handled at the same time. Handling one takes about four times its size. */
const BYTES_MAX = 108 * 1024 * 1024
/** Of them for one tenant, so that its slow clients do not keep others waiting. */
const TENANT_BYTES_MAX = 72 * 1024 * 1024
/** Much less than a client has for its whole request. */
const WAIT_SECONDS_MAX = 20

interface Waiting {
  tenantId: string
  bytes: number
  begin(): void
}

/** Makes requests with large bodies wait for room, so that together they do not exhaust the memory. First come, first served. */
export class LargeBodies {
  readonly #waitSeconds: number
  readonly #waiting: Waiting[] = []
  readonly #held = new Map<string, number>()
  #bytes = 0

  constructor(waitSeconds = WAIT_SECONDS_MAX) {
    this.#waitSeconds = waitSeconds
  }

  /** Waits until there is room for a body; disposing gives it back. Null if there is none in time. */
  async enter(tenantId: string, bytes: number): Promise<Disposable | null> {
    const entered = Promise.withResolvers<Disposable | null>()
    const timer = setTimeout(() => {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
      entered.resolve(null)
      this.#beginAll()
    }, this.#waitSeconds * 1000)
    const waiting: Waiting = {
      tenantId,
      bytes,
      begin: () => {
        clearTimeout(timer)
        entered.resolve({ [Symbol.dispose]: () => this.#leave(waiting) })
      },
    }
    this.#waiting.push(waiting)
    this.#beginAll()
    return entered.promise
  }

  #beginAll(): void {
    for (const waiting of this.#waiting.slice()) {
      const { tenantId, bytes } = waiting
      const held = this.#held.get(tenantId) ?? 0
      // Others may pass a tenant that has its share, but nobody passes a body that is larger than what is free.
      if (held > 0 && held + bytes > TENANT_BYTES_MAX) continue
      if (this.#bytes > 0 && this.#bytes + bytes > BYTES_MAX) return
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
      this.#held.set(tenantId, held + bytes)
      this.#bytes += bytes
      waiting.begin()
    }
  }

  #leave({ tenantId, bytes }: Waiting): void {
    const held = (this.#held.get(tenantId) ?? 0) - bytes
    if (held > 0) this.#held.set(tenantId, held)
    else this.#held.delete(tenantId)
    this.#bytes -= bytes
    this.#beginAll()
  }
}
