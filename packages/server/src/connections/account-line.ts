import type { HalfKind } from '../accounts/halves/kind.ts'
import type { ReachedAccount } from '../accounts/reach.ts'
import type { ConnectedAccount } from '../providers/connected-account.ts'
import { ProviderFailure } from '../providers/failure.ts'
import type { ConnectionPermit, Connector, UseOptions } from './connections.ts'

/** Others may need every connection to a host; a caller waits no longer. */
const PERMIT_WAIT_SECONDS = 20

/** One kind of the data that is read over a line. */
type Half = Pick<ReachedAccount, 'kind' | 'version'>

interface Open {
  connector: Connector
  connected: ConnectedAccount
  permit: ConnectionPermit
  stop: AbortController
  /** How many calls run side by side over it. */
  calls: number
  /** Whether a step was done over it: if not, it is too new to have broken while it was idle. */
  isUsed: boolean
  /** No longer to be used; it is closed when its last call has ended. */
  isDropped: boolean
}

type Act<T> = (connected: ConnectedAccount) => Promise<T>

/** The connection to one endpoint of an account, opened when it is needed, and the order of those who use it. */
export class AccountLine {
  readonly #connectorOf: (kind: HalfKind) => () => Promise<Connector>
  /** The kinds of data that were asked for, in the versions for which the connection is good. */
  readonly #halves = new Map<HalfKind, { version: string; findConnector: () => Promise<Connector> }>()
  #open: Open | null = null
  #last: Promise<unknown> = Promise.resolve()
  #lastLong: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(connectorOf: (kind: HalfKind) => () => Promise<Connector>) {
    this.#connectorOf = connectorOf
  }

  /** The permit of the open connection, if there is one. */
  get permit(): ConnectionPermit | null {
    return this.#open?.permit ?? null
  }

  /**
   * Does one step over the connection: where the kind serves one at a time, after all that asked before. Then the signal
   * ends the connection, since nothing else ends what is being asked.
   */
  async step<T>(half: Half, act: Act<T>, options: UseOptions): Promise<T> {
    const { isRepeatable, signal, beginsUntil } = options
    const begun = Promise.withResolvers<void>()
    const turn = this.#inTurn(async (): Promise<{ value: T } | { beside: Open }> => {
      if (signal?.aborted) throw gaveUp(signal)
      if (beginsUntil?.aborted) throw tooLate()
      const open = await this.#require(half, signal)
      if (beginsUntil?.aborted) throw tooLate()
      begun.resolve()
      if (!open.connector.isOneAtATime) {
        open.calls++
        return { beside: open }
      }
      const wasUsed = open.isUsed
      try {
        return { value: await this.#doAlone(open, act, signal) }
      } catch (error) {
        const mayRepeat = isLost(error) && (isRepeatable || error.isBeforeAcceptance)
        if (!wasUsed || !mayRepeat || signal?.aborted) throw error
        return { value: await this.#doAlone(await this.#require(half, signal), act, signal) }
      }
    })
    if (beginsUntil) await unlessAborted(beginsUntil, Promise.race([begun.promise, turn]), tooLate)
    const result = await turn
    return 'value' in result ? result.value : this.#doBeside(result.beside, act, signal)
  }

  /** Does work of many steps; where the kind serves one at a time, after other such work has come to its end. */
  async long<T>(half: Half, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const run = async () => {
      const { connector } = await this.#inTurn(() => this.#require(half, signal))
      if (!connector.isOneAtATime) return work()
      const done = this.#lastLong.then(work)
      this.#lastLong = done.catch(() => undefined)
      return done
    }
    return unlessAborted(signal, run())
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#last.then(work)
    this.#last = turn.catch(() => undefined)
    return turn
  }

  /** Closes the connection, after what is being asked in turn. */
  async close(): Promise<void> {
    if (this.#open) await this.#drop(this.#open)
  }

  /** Ends whatever is being asked, and opens no connection any more. */
  async end(): Promise<void> {
    this.#isClosed = true
    this.#open?.stop.abort()
    await this.close()
  }

  /** A kind that is new to the line may have changed since the connection was opened, so it opens another one. */
  async #require({ kind, version }: Half, signal: AbortSignal | undefined): Promise<Open> {
    const known = this.#halves.get(kind)
    const findConnector = known?.findConnector ?? this.#connectorOf(kind)
    if (known?.version !== version && this.#open) await this.#drop(this.#open)
    this.#halves.set(kind, { version, findConnector })
    return (this.#open ??= await this.#connect(findConnector, signal))
  }

  async #connect(findConnector: () => Promise<Connector>, signal: AbortSignal | undefined): Promise<Open> {
    if (this.#isClosed) throw unasked('The service is stopping.')
    const connector = await findConnector()
    const permit = await acquire(connector, signal)
    const stop = new AbortController()
    using _ = stopOn(signal, stop)
    try {
      const connected = await connector.connect(stop.signal)
      return { connector, connected, permit, stop, calls: 0, isUsed: false, isDropped: false }
    } catch (error) {
      permit[Symbol.dispose]()
      throw error
    }
  }

  /** A connection that is lost is not used again. */
  async #doAlone<T>(open: Open, act: Act<T>, signal: AbortSignal | undefined): Promise<T> {
    using _ = stopOn(signal, open.stop)
    try {
      const value = await act(open.connected)
      open.isUsed = true
      return value
    } catch (error) {
      if (isLost(error)) await this.#drop(open)
      throw error
    }
  }

  async #doBeside<T>(open: Open, act: Act<T>, signal: AbortSignal | undefined): Promise<T> {
    try {
      const acted = act(open.connected)
      return await (signal ? unlessAborted(signal, acted) : acted)
    } finally {
      open.calls--
      if (open.isDropped) await closeUnused(open)
    }
  }

  async #drop(open: Open): Promise<void> {
    if (this.#open === open) this.#open = null
    open.isDropped = true
    await closeUnused(open)
  }
}

async function closeUnused({ connected, permit, calls }: Open): Promise<void> {
  if (calls > 0) return
  try {
    await connected[Symbol.asyncDispose]()
  } finally {
    permit[Symbol.dispose]()
  }
}

async function acquire(connector: Connector, signal: AbortSignal | undefined): Promise<ConnectionPermit> {
  const tooLong = AbortSignal.timeout(PERMIT_WAIT_SECONDS * 1000)
  try {
    return await connector.acquire(signal ? AbortSignal.any([signal, tooLong]) : tooLong)
  } catch (error) {
    if (signal?.aborted) throw unasked(gaveUp(signal).message)
    if (!tooLong.aborted) throw error
    throw unasked('Every connection to the server is in use. Try again.')
  }
}

/** Passes the end on for as long as it is in scope. */
function stopOn(signal: AbortSignal | undefined, stop: AbortController): Disposable {
  const end = () => stop.abort()
  if (signal?.aborted) end()
  else signal?.addEventListener('abort', end, { once: true })
  return { [Symbol.dispose]: () => signal?.removeEventListener('abort', end) }
}

/** What the promise comes to, unless the signal is first. */
async function unlessAborted<T>(
  signal: AbortSignal,
  promise: Promise<T>,
  reason = () => gaveUp(signal),
): Promise<T> {
  const aborted = Promise.withResolvers<never>()
  const reject = () => aborted.reject(reason())
  if (signal.aborted) reject()
  else signal.addEventListener('abort', reject, { once: true })
  try {
    return await Promise.race([promise, aborted.promise])
  } finally {
    signal.removeEventListener('abort', reject)
  }
}

function gaveUp({ reason }: AbortSignal): ProviderFailure {
  const isTimeout = reason instanceof DOMException && reason.name === 'TimeoutError'
  return new ProviderFailure('unavailable', isTimeout ? 'The provider took too long.' : 'It was given up.')
}

function tooLate(): ProviderFailure {
  return unasked('The connection to the server was busy for too long. Try again.')
}

function unasked(message: string): ProviderFailure {
  return new ProviderFailure('unavailable', message, { isBeforeAcceptance: true })
}

function isLost(error: unknown): error is ProviderFailure {
  return error instanceof ProviderFailure && error.kind === 'unavailable'
}
