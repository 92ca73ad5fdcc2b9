export interface MemoryRoomOptions {
  bytesMax: number
  /** Bytes that one tenant may hold, so that its slow clients and servers do not keep others waiting. */
  tenantBytesMax: number
  waitSeconds: number
}

interface Waiting {
  tenantId: string
  bytes: number
  begin(): void
}

/** Makes works that need much memory wait for room, so that together they do not exhaust it. First come, first served. */
export class MemoryRoom {
  readonly #options: MemoryRoomOptions
  readonly #waiting: Waiting[] = []
  readonly #held = new Map<string, number>()
  #bytes = 0

  constructor(options: MemoryRoomOptions) {
    this.#options = options
  }

  /** Waits until there is room for this number of bytes; disposing gives it back. Null if there is none in time. */
  async enter(tenantId: string, bytes: number): Promise<Disposable | null> {
    const entered = Promise.withResolvers<Disposable | null>()
    const timer = setTimeout(() => {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1)
      entered.resolve(null)
      this.#beginAll()
    }, this.#options.waitSeconds * 1000)
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
      // Others may pass a tenant that has its share, but nobody passes a work that needs more than what is free.
      if (held > 0 && held + bytes > this.#options.tenantBytesMax) continue
      if (this.#bytes > 0 && this.#bytes + bytes > this.#options.bytesMax) return
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
