import type { ContentRange, Location } from '../providers/content.ts'
import type { MailProvider, MessageKey, SourceCursor } from '../providers/mail.ts'
import { ProviderFailure } from '../providers/failure.ts'
import type { SearchPage, SearchQuery } from '../providers/search.ts'
import { Suspicions } from '../providers/imap/suspicions.ts'
import type { ConnectionPermit, HostBudget } from './host-budget.ts'
import type { Connector } from './connector.ts'

const IDLE_SECONDS = 60
/** Others may need every connection to a host; a caller waits no longer. */
const PERMIT_WAIT_SECONDS = 20
/** A search begins anew where its connection was lost: so often that one message which kills it is found and left out. */
const BEGINNINGS_MAX = 6

/** Whose mail is read. `version` changes with servers and secrets: a connection under another one is not used. */
export interface ReadAccount {
  id: string
  tenantId: string
  version: string
}

export interface OnDemandMailOptions {
  /** Reads servers and secrets. */
  findConnector(account: ReadAccount, suspicions: Suspicions): Promise<Connector>
  budget: HostBudget
  idleSeconds?: number
}

interface Connected {
  version: string
  mail: MailProvider
  permit: ConnectionPermit
  stop: AbortController
}

type Use<T> = (mail: MailProvider) => Promise<T>

/** The connection of one account, and who waits for it. */
interface Line {
  connected: Connected | null
  last: Promise<unknown>
  /** Searches come one after another, and share the connection with reads a step at a time. */
  lastSearch: Promise<unknown>
  suspicions: Suspicions
  waiting: number
  idle: NodeJS.Timeout | null
}

/**
 * Reads and searches messages for callers of the API, on a connection of its own for each account, so that a download
 * keeps neither the sync nor the index. Made on demand, shared by all who read the account's mail a piece at a time, so
 * that a slow caller holds up nobody, and closed when it was idle for a minute or its place is wanted.
 */
export class OnDemandMail implements AsyncDisposable {
  readonly #options: OnDemandMailOptions
  readonly #lines = new Map<string, Line>()
  #isClosed = false

  constructor(options: OnDemandMailOptions) {
    this.#options = options
  }

  /** As `MailProvider.readContent`. A connection that broke while it was idle is made anew once. */
  readContent(account: ReadAccount, location: Location, range: ContentRange): Promise<Buffer | null> {
    return this.#onLine(account, line =>
      this.#inTurn(line, account, mail => mail.readContent(location, range), null),
    )
  }

  /** As `MailProvider.readSources`. The signal ends what is being asked, and so the connection. */
  readSources(
    account: ReadAccount,
    place: SourceCursor & { keys: readonly MessageKey[] },
    bytesMax: number,
    signal: AbortSignal,
  ): Promise<Map<MessageKey, Buffer>> {
    return this.#onLine(account, line =>
      this.#inTurn(line, account, mail => mail.readSources(place, bytesMax), signal),
    )
  }

  /** As `MailProvider.search`, to its end. `unavailable` when that takes longer than so many seconds. */
  search(account: ReadAccount, query: SearchQuery, secondsMax: number): Promise<SearchPage> {
    const signal = AbortSignal.timeout(secondsMax * 1000)
    return this.#onLine(account, line => {
      const found = line.lastSearch.then(() => this.#searchInTurns(line, account, query, signal))
      line.lastSearch = found.catch(() => undefined)
      return Promise.race([found, rejectOn(signal)])
    })
  }

  async #searchInTurns(
    line: Line,
    account: ReadAccount,
    query: SearchQuery,
    signal: AbortSignal,
  ): Promise<SearchPage> {
    let searched: MailProvider | null = null
    let steps: ReturnType<MailProvider['search']> | null = null
    let beginnings = 0
    for (;;) {
      const step: IteratorResult<void, SearchPage> = await this.#inTurn(
        line,
        account,
        mail => {
          if (!steps || mail !== searched) {
            if (++beginnings > BEGINNINGS_MAX)
              throw new ProviderFailure('unavailable', 'The connection breaks whenever it is searched.')
            searched = mail
            steps = mail.search(query)
          }
          return steps.next()
        },
        signal,
      )
      if (step.done) return step.value
    }
  }

  /** Keeps the line of the account while it is used. */
  async #onLine<T>(account: ReadAccount, use: (line: Line) => Promise<T>): Promise<T> {
    const line = this.#lines.get(account.id) ?? {
      connected: null,
      last: Promise.resolve(),
      lastSearch: Promise.resolve(),
      suspicions: new Suspicions(),
      waiting: 0,
      idle: null,
    }
    this.#lines.set(account.id, line)
    if (line.idle) clearTimeout(line.idle)
    line.idle = null
    line.waiting++
    try {
      return await use(line)
    } finally {
      line.waiting--
      if (line.waiting === 0) this.#rest(account.id, line)
    }
  }

  /** Uses the connection when all that asked before have. The signal ends what is being asked, and so the connection. */
  #inTurn<T>(line: Line, account: ReadAccount, use: Use<T>, signal: AbortSignal | null): Promise<T> {
    const turn = line.last.then(async () => {
      if (signal?.aborted) throw tookTooLong()
      if (line.connected && line.connected.version !== account.version) await disconnect(line)
      const wasOpen = line.connected !== null
      try {
        return await this.#use(line, account, use, signal)
      } catch (error) {
        if (!isLost(error)) throw error
        await disconnect(line)
        if (!wasOpen || signal?.aborted) throw error
        return this.#use(line, account, use, signal)
      }
    })
    line.last = turn.catch(() => undefined)
    return turn
  }

  async #use<T>(line: Line, account: ReadAccount, use: Use<T>, signal: AbortSignal | null): Promise<T> {
    const connected = (line.connected ??= await this.#connect(line, account, signal))
    using _ = stopOn(signal, connected.stop)
    return await use(connected.mail)
  }

  async #connect(line: Line, account: ReadAccount, signal: AbortSignal | null): Promise<Connected> {
    if (this.#isClosed) throw new ProviderFailure('unavailable', 'The service is stopping.')
    const connector = await this.#options.findConnector(account, line.suspicions)
    const permit = await this.#acquire(connector.host)
    const stop = new AbortController()
    using _ = stopOn(signal, stop)
    try {
      return { version: account.version, mail: await connector.connect(stop.signal), permit, stop }
    } catch (error) {
      permit[Symbol.dispose]()
      throw error
    }
  }

  async #acquire(host: string): Promise<ConnectionPermit> {
    const signal = AbortSignal.timeout(PERMIT_WAIT_SECONDS * 1000)
    try {
      return await this.#options.budget.acquire(host, signal)
    } catch (error) {
      if (!signal.aborted) throw error
      throw new ProviderFailure('unavailable', 'Every connection to the server is in use. Try again.')
    }
  }

  /** Nobody waits: the connection is kept for a while, unless its place is wanted. */
  #rest(accountId: string, line: Line): void {
    const { connected } = line
    const close = () => {
      if (line.waiting > 0) return
      if (line.idle) clearTimeout(line.idle)
      this.#lines.delete(accountId)
      void disconnect(line)
    }
    if (!connected || this.#isClosed) return close()
    line.idle = setTimeout(close, (this.#options.idleSeconds ?? IDLE_SECONDS) * 1000)
    line.idle.unref()
    connected.permit.onWanted(close)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    const lines = [...this.#lines.values()]
    this.#lines.clear()
    await Promise.all(
      lines.map(async line => {
        if (line.idle) clearTimeout(line.idle)
        // What is being read would be waited for.
        line.connected?.stop.abort()
        await disconnect(line)
      }),
    )
  }
}

/** Passes the end on for as long as it is in scope. */
function stopOn(signal: AbortSignal | null, stop: AbortController): Disposable {
  const end = () => stop.abort()
  if (signal?.aborted) end()
  else signal?.addEventListener('abort', end, { once: true })
  return { [Symbol.dispose]: () => signal?.removeEventListener('abort', end) }
}

function rejectOn(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) =>
    signal.addEventListener('abort', () => reject(tookTooLong()), { once: true }),
  )
}

function tookTooLong(): ProviderFailure {
  return new ProviderFailure('unavailable', 'The search took too long.')
}

function isLost(error: unknown): boolean {
  return error instanceof ProviderFailure && error.kind === 'unavailable'
}

async function disconnect(line: Line): Promise<void> {
  const { connected } = line
  line.connected = null
  if (!connected) return
  try {
    await connected.mail[Symbol.asyncDispose]()
  } finally {
    connected.permit[Symbol.dispose]()
  }
}
