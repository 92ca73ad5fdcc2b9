import { pause } from '../processes/nudge.ts'

/** So that the accounts of a dead process do not all log in at one moment. Later attempts have pauses of their own. */
const BEGUN_PER_SECOND = 50
const AT_ONCE_PER_HOST = 10

interface Host {
  running: number
  waiting: Array<() => void>
}

/** Bounds how fast a process first connects to the accounts that it has claimed: in all, and to each host. */
export class Ramp {
  readonly #hosts = new Map<string, Host>()
  readonly #intervalMs: number
  #nextAt = 0

  constructor(begunPerSecond = BEGUN_PER_SECOND) {
    this.#intervalMs = 1_000 / begunPerSecond
  }

  /**
   * Waits until a connection to the host may begin. Dispose the answer once it is made.
   * @throws the signal's reason when it aborts first
   */
  async begin(hostName: string, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted()
    const host = this.#hosts.get(hostName) ?? { running: 0, waiting: [] }
    this.#hosts.set(hostName, host)
    if (host.running < AT_ONCE_PER_HOST) host.running++
    else await this.#wait(host, signal)
    const begun = this.#begin(hostName, host)
    const now = performance.now()
    const at = Math.max(now, this.#nextAt)
    this.#nextAt = at + this.#intervalMs
    await pause(at - now, signal)
    if (!signal.aborted) return begun
    begun[Symbol.dispose]()
    throw signal.reason
  }

  #wait(host: Host, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const abandon = () => {
      const at = host.waiting.indexOf(resolve)
      // A place that was handed over at this moment is taken.
      if (at < 0) return
      host.waiting.splice(at, 1)
      reject(signal.reason)
    }
    host.waiting.push(resolve)
    signal.addEventListener('abort', abandon, { once: true })
    return promise.finally(() => signal.removeEventListener('abort', abandon))
  }

  #begin(hostName: string, host: Host): Disposable {
    let isOver = false
    return {
      [Symbol.dispose]: () => {
        if (isOver) return
        isOver = true
        const next = host.waiting.shift()
        if (next) return next()
        host.running--
        if (host.running === 0) this.#hosts.delete(hostName)
      },
    }
  }
}
