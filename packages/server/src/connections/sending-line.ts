import type { Share } from '../kit/share.ts'
import type { ConnectedAccount } from '../providers/connected-account.ts'
import { ProviderFailure } from '../providers/failure.ts'
import type { ConnectionPermit, Connector, UseOptions } from './connections.ts'

/** Connections of one account over which messages are sent at the same time, by all processes together. */
const CONNECTIONS_MAX = 3
/** All connections may be busy with large messages; a caller waits no longer. */
const WAIT_SECONDS = 20

interface Open {
  version: string
  connected: ConnectedAccount
  permit: ConnectionPermit
  stop: AbortController
  idle: NodeJS.Timeout | null
  /** Whether work was done over it: if not, it is too new to have broken while it was idle. */
  isUsed: boolean
}

/**
 * The connections over which one account sends. Each does one piece of work at a time and is kept for the next, until
 * it was idle for a while, its permit is wanted, or work over it failed.
 */
export class SendingLine {
  readonly #findConnector: () => Promise<Connector>
  readonly #idleSeconds: number
  readonly #onEmpty: () => void
  readonly #share: Share
  readonly #open = new Set<Open>()
  readonly #connecting = new Set<AbortController>()
  readonly #waiting: Array<() => void> = []
  #working = 0
  #isClosed = false

  /** @param options.onEmpty called when nothing is done or kept here any more */
  constructor(
    findConnector: () => Promise<Connector>,
    { idleSeconds, share, onEmpty }: { idleSeconds: number; share: Share; onEmpty: () => void },
  ) {
    this.#findConnector = findConnector
    this.#idleSeconds = idleSeconds
    this.#share = share
    this.#onEmpty = onEmpty
  }

  /**
   * The signal ends the wait for a connection; work over one has to watch it itself. Work is repeated once, over a new
   * connection, if the kept one broke before the provider accepted anything.
   */
  async use<T>(
    version: string,
    act: (connected: ConnectedAccount) => Promise<T>,
    { isRepeatable, signal }: UseOptions,
  ): Promise<T> {
    await this.#takePlace(waitFor(signal))
    try {
      const open = await this.#require(version, signal)
      try {
        return await this.#act(open, act)
      } catch (error) {
        const mayRepeat = isLost(error) && (isRepeatable || error.isBeforeAcceptance)
        if (!open.isUsed || !mayRepeat || signal?.aborted) throw error
        // The others may have been idle as long, and are as likely to be broken.
        void this.close()
        return await this.#act(await this.#connect(version, signal), act)
      }
    } finally {
      this.#passOn()
      this.#tellIfEmpty()
    }
  }

  /** Closes the connections that nobody uses. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].filter(({ idle }) => idle !== null).map(open => this.#drop(open)))
  }

  /** Ends whatever is being done, and opens no connection any more. */
  async end(): Promise<void> {
    this.#isClosed = true
    const all = [...this.#open]
    for (const stop of this.#connecting) stop.abort()
    for (const { stop } of all) stop.abort()
    await Promise.all(all.map(open => this.#drop(open)))
  }

  #passOn(): void {
    this.#working--
    while (this.#working < this.#share(CONNECTIONS_MAX)) {
      const next = this.#waiting.shift()
      if (!next) return
      this.#working++
      next()
    }
  }

  async #takePlace(signal: AbortSignal): Promise<void> {
    if (this.#working < this.#share(CONNECTIONS_MAX)) {
      this.#working++
      return
    }
    await new Promise<void>((resolve, reject) => {
      const go = () => {
        signal.removeEventListener('abort', abandon)
        resolve()
      }
      const abandon = () => {
        const at = this.#waiting.indexOf(go)
        if (at >= 0) this.#waiting.splice(at, 1)
        reject(busy())
      }
      if (signal.aborted) return abandon()
      signal.addEventListener('abort', abandon, { once: true })
      this.#waiting.push(go)
    })
  }

  async #require(version: string, signal: AbortSignal | undefined): Promise<Open> {
    for (const open of this.#open) {
      if (open.idle === null) continue
      clearTimeout(open.idle)
      open.idle = null
      if (open.version === version && open.connected.isOpen !== false) return open
      await this.#drop(open)
    }
    return this.#connect(version, signal)
  }

  async #connect(version: string, signal: AbortSignal | undefined): Promise<Open> {
    if (this.#isClosed) throw unasked('The service is stopping.')
    const connector = await this.#findConnector()
    const permit = await acquire(connector, waitFor(signal))
    const stop = new AbortController()
    const end = () => stop.abort()
    this.#connecting.add(stop)
    signal?.addEventListener('abort', end, { once: true })
    if (signal?.aborted || this.#isClosed) end()
    try {
      const connected = await connector.connect(stop.signal)
      const open = { version, connected, permit, stop, idle: null, isUsed: false }
      this.#open.add(open)
      return open
    } catch (error) {
      permit[Symbol.dispose]()
      throw error
    } finally {
      this.#connecting.delete(stop)
      signal?.removeEventListener('abort', end)
    }
  }

  async #act<T>(open: Open, act: (connected: ConnectedAccount) => Promise<T>): Promise<T> {
    let isKept = false
    try {
      const value = await act(open.connected)
      isKept = true
      open.isUsed = true
      return value
    } finally {
      if (isKept && open.connected.isOpen !== false && !this.#isClosed) this.#rest(open)
      else await this.#drop(open)
    }
  }

  #rest(open: Open): void {
    const close = () => {
      if (open.idle) void this.#drop(open)
    }
    open.idle = setTimeout(close, this.#idleSeconds * 1000)
    open.idle.unref()
    open.permit.onWanted(close)
  }

  async #drop(open: Open): Promise<void> {
    if (!this.#open.delete(open)) return
    if (open.idle) clearTimeout(open.idle)
    open.idle = null
    try {
      await open.connected[Symbol.asyncDispose]()
    } finally {
      open.permit[Symbol.dispose]()
      this.#tellIfEmpty()
    }
  }

  #tellIfEmpty(): void {
    if (this.#working === 0 && this.#open.size === 0) this.#onEmpty()
  }
}

async function acquire(connector: Connector, signal: AbortSignal): Promise<ConnectionPermit> {
  try {
    return await connector.acquire(signal)
  } catch (error) {
    throw signal.aborted ? busy() : error
  }
}

function waitFor(signal: AbortSignal | undefined): AbortSignal {
  const wait = AbortSignal.timeout(WAIT_SECONDS * 1000)
  return signal ? AbortSignal.any([signal, wait]) : wait
}

function busy(): ProviderFailure {
  return unasked('Every connection to the server is in use. Try again.', true)
}

function unasked(message: string, isBusy = false): ProviderFailure {
  return new ProviderFailure('unavailable', message, { isBeforeAcceptance: true, isBusy })
}

function isLost(error: unknown): error is ProviderFailure {
  return error instanceof ProviderFailure && error.kind === 'unavailable'
}
