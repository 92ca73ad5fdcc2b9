import { type Share, whole } from '../kit/share.ts'
import type { ConnectionPermit } from './connections.ts'

interface Waiter {
  grant(permit: ConnectionPermit): void
}

interface Host {
  /** The one that has held its connection for the longest time is the first. */
  held: Set<HeldPermit>
  waiting: Waiter[]
}

/**
 * Bounds the connections to each host: all processes together keep the limit, of which each has its share. Callers
 * that wait are served in the order of asking; holders are notified, so that idle ones can make room and more
 * accounts than connections take turns.
 */
export class HostBudget {
  readonly #connectionsPerHost: number
  readonly #share: Share
  readonly #hosts = new Map<string, Host>()

  constructor(connectionsPerHost: number, share: Share = whole) {
    this.#connectionsPerHost = connectionsPerHost
    this.#share = share
  }

  /** Called when the share has changed: hands out what is free now, or asks for what is too much. */
  reconsider(): void {
    for (const [name, host] of this.#hosts) {
      this.#serve(name, host)
      let over = host.held.size - this.#limit
      for (const holder of host.held) {
        holder.isOver = over-- > 0
        if (holder.isOver) holder.tell()
      }
    }
  }

  /** @throws the signal's reason when it aborts first */
  async acquire(hostName: string, signal: AbortSignal): Promise<ConnectionPermit> {
    signal.throwIfAborted()
    const free = this.acquireFree(hostName)
    if (free) return free
    const { host } = this.#find(hostName)
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
      if (host.waiting.length === 1) for (const holder of host.held) holder.tell()
    })
  }

  /** The right to one more connection; null if none is free, or others wait. */
  acquireFree(hostName: string): ConnectionPermit | null {
    const { name, host } = this.#find(hostName)
    return host.held.size < this.#limit && host.waiting.length === 0 ? this.#grant(name, host) : null
  }

  /** Connections held now, for metrics. */
  get heldCount(): number {
    let count = 0
    for (const host of this.#hosts.values()) count += host.held.size
    return count
  }

  #find(hostName: string): { name: string; host: Host } {
    const name = hostName.toLowerCase()
    const host = this.#hosts.get(name) ?? { held: new Set<HeldPermit>(), waiting: [] }
    this.#hosts.set(name, host)
    return { name, host }
  }

  get #limit(): number {
    return this.#share(this.#connectionsPerHost)
  }

  #serve(name: string, host: Host): void {
    while (host.held.size < this.#limit) {
      const next = host.waiting.shift()
      if (!next) return
      next.grant(this.#grant(name, host))
    }
  }

  #grant(name: string, host: Host): ConnectionPermit {
    const permit = new HeldPermit(host, () => this.#giveBack(name, host))
    host.held.add(permit)
    return permit
  }

  #giveBack(name: string, host: Host): void {
    this.#serve(name, host)
    if (host.held.size === 0 && host.waiting.length === 0) this.#hosts.delete(name)
  }
}

class HeldPermit implements ConnectionPermit {
  readonly #host: Host
  readonly #onGivenBack: () => void
  #listener: (() => void) | null = null
  /** Whether it is one of those by which the limit is exceeded, since more processes share it now. */
  isOver = false

  constructor(host: Host, onGivenBack: () => void) {
    this.#host = host
    this.#onGivenBack = onGivenBack
  }

  get isWanted(): boolean {
    return this.isOver || this.#host.waiting.length > 0
  }

  onWanted(listener: () => void): void {
    this.#listener = listener
    if (this.isWanted) listener()
  }

  tell(): void {
    this.#listener?.()
  }

  [Symbol.dispose](): void {
    if (this.#host.held.delete(this)) this.#onGivenBack()
  }
}
