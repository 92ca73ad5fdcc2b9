/** How the rest of the service reaches the providers of accounts. Types only: what implements them is composed at start. */
import type { HalfKind } from '../accounts/halves/kind.ts'
import type { ReachedAccount } from '../accounts/reach.ts'
import type { Capabilities, Capability, ConnectedAccount } from '../providers/connected-account.ts'

export interface UseOptions {
  /**
   * Whether the work may be done twice. Reads may: they are repeated once where the connection broke while it was idle.
   * What is not repeatable is repeated only where the provider has certainly carried out nothing.
   */
  isRepeatable: boolean
  /** Ends the work, and where the kind has one connection for all callers, that connection as well. */
  signal?: AbortSignal
  /** Ends the wait for a connection that serves one caller at a time. What has begun by then goes on. */
  beginsUntil?: AbortSignal
}

/**
 * What a connected account offers, for callers who do not follow it. A connection is opened when it is needed, shared by
 * all who ask for the same endpoint of an account, and closed when nobody needs it. Every method throws `ProviderFailure`, as the
 * capabilities do: `unsupported` where the provider does not offer the capability.
 */
export interface Connections {
  /** Does the work in one step. */
  use<C extends Capability, T>(
    account: ReachedAccount,
    capability: C,
    work: (offered: Capabilities[C]) => Promise<T>,
    options: UseOptions,
  ): Promise<T>

  /**
   * Does work that yields the connection to others at each of its steps. It begins again from its start where the
   * connection broke, so it must be repeatable.
   */
  useInSteps<C extends Capability, T>(
    account: ReachedAccount,
    capability: C,
    work: (offered: Capabilities[C]) => AsyncGenerator<void, T, void>,
    signal: AbortSignal,
  ): Promise<T>

  /**
   * Hands on what a read yields, as fast as the caller takes it; others use the connection meanwhile. Where the connection
   * broke, or was closed since the caller took its time, `read` is called again on the next one, and goes on after what
   * it has yielded.
   */
  stream<C extends Capability, T, R>(
    account: ReachedAccount,
    capability: C,
    read: (offered: Capabilities[C]) => AsyncGenerator<T, R, void>,
  ): AsyncGenerator<T, R, void>
}

/** The right to one connection. Disposing gives it back. */
export interface ConnectionPermit extends Disposable {
  /** True while others wait: a holder who can spare the connection should give it back. */
  readonly isWanted: boolean
  /** Calls the listener when the first other one begins to wait. */
  onWanted(listener: () => void): void
}

/** How one account is reached, with the settings that it has now. */
export interface Connector {
  /** The stamp of the half that it was found for. */
  version: string
  /** The host, for people. */
  host: string
  /** null: the full history. */
  syncWindowDays: number | null
  /** Whether a connection serves one step at a time (IMAP). Otherwise calls run side by side. */
  isOneAtATime: boolean
  /** Waits for the right to one more connection, where the kind bounds these. Throws the signal's reason. */
  acquire(signal: AbortSignal): Promise<ConnectionPermit>
  /**
   * The right to one more connection if one is free now, for a session in place of another; otherwise null. Absent if
   * sessions of the kind do not last, or there are none.
   */
  acquireFree?(): ConnectionPermit | null
  /** The signal ends the connection, whatever is being done over it. */
  connect(signal: AbortSignal): Promise<ConnectedAccount>
}

/** Names what a kind of data is read from: what two kinds are read from by one name is one connection. */
export type EndpointOf = (account: Pick<ReachedAccount, 'provider' | 'kind'>) => string

/**
 * Called once for a kind of data of an account; the function that it returns reads servers and secrets before each
 * connection, so that a change of the account counts at once. It rejects with `unsupported` if the provider has no such
 * data.
 */
export type ConnectorOf = (
  account: Pick<ReachedAccount, 'id' | 'tenantId'>,
  kind: HalfKind,
) => () => Promise<Connector>
