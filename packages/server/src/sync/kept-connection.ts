import type { ConnectionPermit, Connector } from '../connections/connections.ts'
import type { ConnectedAccount } from '../providers/connected-account.ts'
import { Renewal, RENEWAL_PACE, type RenewalPace } from './renewal.ts'

/** After a failed renewal, requested ones wait for this share of the usual time. */
const PUT_OFF_SHARE = 1 / 6

/** A connection over which an account is followed, with the right to it. Disposing ends the one and gives back the other. */
export class KeptConnection implements AsyncDisposable {
  readonly connector: Connector
  readonly connected: ConnectedAccount
  readonly permit: ConnectionPermit
  readonly #pace: RenewalPace
  #renewal: Renewal | null

  private constructor(
    connector: Connector,
    connected: ConnectedAccount,
    permit: ConnectionPermit,
    pace: RenewalPace,
  ) {
    this.connector = connector
    this.connected = connected
    this.permit = permit
    this.#pace = pace
    this.#renewal = connector.acquireFree ? new Renewal(pace) : null
  }

  /** Null if the kind has no sessions that grow old. */
  get renewal(): Renewal | null {
    return this.#renewal
  }

  putOffRenewal(): void {
    const { everySeconds } = this.#pace
    this.#renewal = new Renewal({ everySeconds, soonestSeconds: everySeconds * PUT_OFF_SHARE })
  }

  /** @param permit given back if the account cannot be connected to */
  static async open(
    connector: Connector,
    permit: ConnectionPermit,
    { pace = RENEWAL_PACE, signal }: { pace?: RenewalPace | undefined; signal: AbortSignal },
  ): Promise<KeptConnection> {
    try {
      return new KeptConnection(connector, await connector.connect(signal), permit, pace)
    } catch (error) {
      permit[Symbol.dispose]()
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.connected[Symbol.asyncDispose]()
    } finally {
      this.permit[Symbol.dispose]()
    }
  }
}

/** A permit that is also wanted once its keeper leaves: its holder gives it up after the pass at hand. */
export class KeeperPermit implements ConnectionPermit {
  readonly #leave: AbortSignal
  readonly #held: ConnectionPermit
  #listener: (() => void) | null = null
  readonly #tell = () => this.#listener?.()

  constructor(leave: AbortSignal, held: ConnectionPermit) {
    this.#leave = leave
    this.#held = held
    leave.addEventListener('abort', this.#tell, { once: true })
  }

  get isWanted(): boolean {
    return this.#held.isWanted || this.#leave.aborted
  }

  onWanted(listener: () => void): void {
    this.#listener = listener
    this.#held.onWanted(listener)
    if (this.#leave.aborted) listener()
  }

  [Symbol.dispose](): void {
    this.#leave.removeEventListener('abort', this.#tell)
    this.#held[Symbol.dispose]()
  }
}
