import type { Capabilities, Capability, ConnectedAccount } from '../providers/connected-account.ts'
import { type Share, whole } from '../kit/share.ts'
import { ProviderFailure } from '../providers/failure.ts'
import { AccountLine } from './account-line.ts'
import type { Connections, ConnectorOf, EndpointOf, UseOptions } from './connections.ts'
import type { ReachedAccount } from '../accounts/reach.ts'
import { SendingLine } from './sending-line.ts'

const IDLE_SECONDS = 60
/** Servers give up an idle SMTP client after minutes, but count it against their limits until then. */
const SENDING_IDLE_SECONDS = 20
/**
 * Work in steps begins again where its connection was lost: often enough that one message which kills the connection is
 * found and left out.
 */
const BEGINNINGS_MAX = 6

export interface SharedConnectionsOptions {
  connectorOf: ConnectorOf
  endpointOf: EndpointOf
  /** How accounts send; by default none does. */
  senderOf?: ConnectorOf
  /** What this process may use of the connections of an account. */
  share?: Share
  idleSeconds?: number
}

interface Shared {
  line: AccountLine
  users: number
  idle: NodeJS.Timeout | null
}

/**
 * One connection for each endpoint of an account that callers ask for, apart from those that follow the account, so that a
 * download holds up neither the sync nor the index. It is closed when it was idle for a minute or its permit is wanted. What an
 * account sends goes over connections of its own, several at a time.
 */
export class SharedConnections implements Connections, AsyncDisposable {
  readonly #options: SharedConnectionsOptions
  /** By account and endpoint: nothing that goes on over one ends another. */
  readonly #lines = new Map<string, Shared>()
  readonly #senders = new Map<string, SendingLine>()
  #isClosed = false

  constructor(options: SharedConnectionsOptions) {
    this.#options = options
  }

  async use<C extends Capability, T>(
    account: ReachedAccount,
    capability: C,
    work: (offered: Capabilities[C]) => Promise<T>,
    options: UseOptions,
  ): Promise<T> {
    const act = (connected: ConnectedAccount) => work(offeredBy(connected, capability))
    if (capability === 'sending') return this.#sender(account).use(account.version, act, options)
    using held = this.#hold(account)
    return await held.line.step(account, act, options)
  }

  async useInSteps<C extends Capability, T>(
    account: ReachedAccount,
    capability: C,
    work: (offered: Capabilities[C]) => AsyncGenerator<void, T, void>,
    signal: AbortSignal,
  ): Promise<T> {
    // Held to its end: it would begin again, were the connection given away between two steps.
    using held = this.#hold(account)
    const { line } = held
    let begun: Begun<void, T> | null = null
    let beginnings = 0
    return await line.long(account, signal, async () => {
      for (;;) {
        const step = await line.step(
          account,
          connected => {
            if (begun?.on !== connected) {
              if (++beginnings > BEGINNINGS_MAX)
                throw new ProviderFailure('unavailable', 'The connection breaks whenever this is asked.')
              begun = { on: connected, steps: work(offeredBy(connected, capability)) }
            }
            return begun.steps.next()
          },
          { isRepeatable: true, signal },
        )
        if (step.done) return step.value
      }
    })
  }

  async *stream<C extends Capability, T, R>(
    account: ReachedAccount,
    capability: C,
    read: (offered: Capabilities[C]) => AsyncGenerator<T, R, void>,
  ): AsyncGenerator<T, R, void> {
    let begun: Begun<T, R> | null = null
    const next = async () => {
      // Not held between two pieces: the connection of a slow caller is given to others who want it.
      using held = this.#hold(account)
      return await held.line.step(
        account,
        connected => {
          if (begun?.on !== connected)
            begun = { on: connected, steps: read(offeredBy(connected, capability)) }
          return begun.steps.next()
        },
        { isRepeatable: true },
      )
    }
    try {
      for (let step = await next(); ; step = await next()) {
        if (step.done) return step.value
        yield step.value
      }
    } finally {
      await (begun as Begun<T, R> | null)?.steps.return(undefined as R)
    }
  }

  #sender(account: ReachedAccount): SendingLine {
    if (this.#isClosed) throw stopping()
    const { senderOf, share = whole, idleSeconds = SENDING_IDLE_SECONDS } = this.#options
    if (!senderOf) throw offersNo('sending')
    const { id } = account
    const found = this.#senders.get(id)
    if (found) return found
    const line = new SendingLine(senderOf(account, account.kind), {
      idleSeconds,
      share,
      onEmpty: () => {
        if (this.#senders.get(id) === line) this.#senders.delete(id)
      },
    })
    this.#senders.set(id, line)
    return line
  }

  /** Keeps the connection to an endpoint of the account from being closed. */
  #hold(account: ReachedAccount): Disposable & { line: AccountLine } {
    if (this.#isClosed) throw stopping()
    const { connectorOf, endpointOf } = this.#options
    const key = `${account.id} ${endpointOf(account)}`
    const shared = this.#lines.get(key) ?? {
      line: new AccountLine(kind => connectorOf(account, kind)),
      users: 0,
      idle: null,
    }
    this.#lines.set(key, shared)
    if (shared.idle) clearTimeout(shared.idle)
    shared.idle = null
    shared.users++
    return {
      line: shared.line,
      [Symbol.dispose]: () => {
        shared.users--
        if (shared.users === 0) this.#rest(key, shared)
      },
    }
  }

  /** Nobody uses it: the connection is kept for a while, unless its permit is wanted. */
  #rest(key: string, shared: Shared): void {
    const { line } = shared
    const close = () => {
      if (shared.users > 0) return
      if (shared.idle) clearTimeout(shared.idle)
      if (this.#lines.get(key) === shared) this.#lines.delete(key)
      void line.close()
    }
    if (!line.permit || this.#isClosed) return close()
    shared.idle = setTimeout(close, (this.#options.idleSeconds ?? IDLE_SECONDS) * 1000)
    shared.idle.unref()
    line.permit.onWanted(close)
  }

  /** Ends what is being sent. The outcome of what was handed over is then unknown. */
  async endSending(): Promise<void> {
    await Promise.all([...this.#senders.values()].map(line => line.end()))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    const lines = [...this.#lines.values()]
    this.#lines.clear()
    await Promise.all([
      ...lines.map(({ line, idle }) => {
        if (idle) clearTimeout(idle)
        return line.end()
      }),
      this.endSending(),
    ])
  }
}

/** Work that was begun, and over which connection. */
interface Begun<T, R> {
  on: ConnectedAccount
  steps: AsyncGenerator<T, R, void>
}

function offeredBy<C extends Capability>(connected: ConnectedAccount, capability: C): Capabilities[C] {
  const offered: Partial<Capabilities> = connected
  const found = offered[capability]
  if (!found) throw offersNo(capability)
  // TypeScript does not see that the part of a Partial that is there is the one that was asked for.
  return found as Capabilities[C]
}

function offersNo(capability: Capability): ProviderFailure {
  return new ProviderFailure('unsupported', `The provider of this account offers no ${capability}.`)
}

function stopping(): ProviderFailure {
  return new ProviderFailure('unavailable', 'The service is stopping.', { isBeforeAcceptance: true })
}
