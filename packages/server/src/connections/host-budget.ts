import type { ConnectionPermit } from './connections.ts'

interface Waiter {
  grant(permit: ConnectionPermit): void
}

interface Host {
  held: Set<() => void>
  waiting: Waiter[]
}

/**
 * Bounds the connections to each host. Who waits is served in the order of asking; holders are told, so that idle ones
 * can make room and more accounts than connections take turns.
 */
export class HostBudget {
  readonly #limit: number
  readonly #hosts = new Map<string, Host>()

  constructor(connectionsPerHost: number) {
    this.#limit = connectionsPerHost
  }

  /** @throws the signal's reason when it aborts first */
  async acquire(hostName: string, signal: AbortSignal): Promise<ConnectionPermit> {
    signal.throwIfAborted()
    const name = hostName.toLowerCase()
    const host = this.#hosts.get(name) ?? { held: new Set<() => void>(), waiting: [] }
    this.#hosts.set(name, host)
    if (host.held.size < this.#limit && host.waiting.length === 0) return this.#grant(name, host)

    return new Promise((resolve, reject) => {
      const waiter = {
        grant(permit: ConnectionPermit) {
          signal.removeEventListener('abort', abandon)
          resolve(permit)
        },
      }
      const abandon = () => {
        host.waiting.splice(host.waiting.indexOf(waiter), 1)
        reject(signal.reason)
      }
      signal.addEventListener('abort', abandon, { once: true })
      host.waiting.push(waiter)
      if (host.waiting.length === 1) for (const tell of host.held) tell()
    })
  }

  /** Connections held now, for metrics. */
  get heldCount(): number {
    let count = 0
    for (const host of this.#hosts.values()) count += host.held.size
    return count
  }

  #grant(name: string, host: Host): ConnectionPermit {
    let listener: (() => void) | undefined
    const tell = () => listener?.()
    host.held.add(tell)
    return {
      get isWanted() {
        return host.waiting.length > 0
      },
      onWanted(wanted) {
        listener = wanted
        if (host.waiting.length > 0) wanted()
      },
      [Symbol.dispose]: () => {
        if (!host.held.delete(tell)) return
        const next = host.waiting.shift()
        if (next) next.grant(this.#grant(name, host))
        else if (host.held.size === 0) this.#hosts.delete(name)
      },
    }
  }
}
