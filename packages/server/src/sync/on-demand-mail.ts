import {
  type ContentRange,
  type Cursor,
  type MailProvider,
  type MessageKey,
  ProviderFailure,
} from '../providers/provider.ts'
import type { ConnectionPermit, HostBudget } from './host-budget.ts'
import type { MailDoor } from './keeper.ts'

const IDLE_SECONDS = 60
/** Others may need every connection to a host; a caller waits no longer. */
const PERMIT_WAIT_SECONDS = 20

/** Whose mail is read. `version` changes with servers and secrets: a connection under another one is not used. */
export interface ReadAccount {
  id: string
  tenantId: string
  version: string
}

export interface ContentPlace {
  source: string
  cursor: Cursor | null
  key: MessageKey
}

export interface OnDemandMailOptions {
  /** Reads servers and secrets. */
  openDoor(account: ReadAccount): Promise<MailDoor>
  budget: HostBudget
  idleSeconds?: number
}

interface Connected {
  version: string
  mail: MailProvider
  permit: ConnectionPermit
  stop: AbortController
}

/** The connection of one account, and who waits for it. */
interface Line {
  connected: Connected | null
  last: Promise<unknown>
  waiting: number
  idle: NodeJS.Timeout | null
}

/**
 * Reads messages for callers of the API, on a connection of its own for each account, so that a download keeps neither
 * the sync nor the index. Made on demand, shared by all reads of the account a piece at a time, so that a slow caller
 * holds up nobody, and closed when it was idle for a minute or its place is wanted.
 */
export class OnDemandMail implements AsyncDisposable {
  readonly #options: OnDemandMailOptions
  readonly #lines = new Map<string, Line>()
  #isClosed = false

  constructor(options: OnDemandMailOptions) {
    this.#options = options
  }

  /** As `MailProvider.readContent`. A connection that broke while it was idle is made anew once. */
  async readContent(account: ReadAccount, place: ContentPlace, range: ContentRange): Promise<Buffer> {
    const line = this.#lines.get(account.id) ?? {
      connected: null,
      last: Promise.resolve(),
      waiting: 0,
      idle: null,
    }
    this.#lines.set(account.id, line)
    if (line.idle) clearTimeout(line.idle)
    line.idle = null
    line.waiting++
    const turn = line.last.then(() => this.#readInTurn(line, account, place, range))
    line.last = turn.catch(() => undefined)
    try {
      return await turn
    } finally {
      line.waiting--
      if (line.waiting === 0) this.#rest(account.id, line)
    }
  }

  async #readInTurn(
    line: Line,
    account: ReadAccount,
    place: ContentPlace,
    range: ContentRange,
  ): Promise<Buffer> {
    if (line.connected && line.connected.version !== account.version) await disconnect(line)
    const wasOpen = line.connected !== null
    try {
      return await this.#read(line, account, place, range)
    } catch (error) {
      if (!isLost(error)) throw error
      await disconnect(line)
      if (!wasOpen) throw error
      return this.#read(line, account, place, range)
    }
  }

  async #read(line: Line, account: ReadAccount, place: ContentPlace, range: ContentRange): Promise<Buffer> {
    line.connected ??= await this.#connect(account)
    return line.connected.mail.readContent(place, range)
  }

  async #connect(account: ReadAccount): Promise<Connected> {
    if (this.#isClosed) throw new ProviderFailure('unavailable', 'The service is stopping.')
    const door = await this.#options.openDoor(account)
    const permit = await this.#acquire(door.host)
    const stop = new AbortController()
    try {
      return { version: account.version, mail: await door.connect(stop.signal), permit, stop }
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
