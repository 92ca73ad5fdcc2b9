import { sql } from 'kysely'
import { beginLook } from '../src/accounts/halves/progress.ts'
import type { HalfKind } from '../src/accounts/halves/kind.ts'
import { RESTART, takeWanted } from '../src/accounts/halves/wanted.ts'
import type { ConnectionPermit, ConnectorOf } from '../src/connections/connections.ts'
import type { Db } from '../src/database/pool.ts'
import { pause } from '../src/processes/nudge.ts'
import type { ConnectedAccount } from '../src/providers/connected-account.ts'
import { ProviderFailure } from '../src/providers/failure.ts'
import type { FollowedConnection, Follower } from '../src/sync/follower.ts'
import { MemoryServer, memoryMail } from './memory-mail.ts'

/** `break`: the connection fails, and no other can be opened. `hang`: reads do not end. `refuse`: the setup is wrong. */
export type Trouble = 'break' | 'hang' | 'refuse' | null

/** The problem that a refused half has, different for each kind. */
export const PROBLEMS: Record<HalfKind, string> = {
  mail: 'server_not_allowed',
  calendar: 'invalid_client',
  contacts: 'oauth_app_secret_unreadable',
}

const PERMIT: ConnectionPermit = { isWanted: false, onWanted: () => {}, [Symbol.dispose]: () => {} }

/** In-memory provider of one half, with counts of its runner's calls. */
export class ProvidedHalf {
  readonly kind: HalfKind
  trouble: Trouble = null
  /** Connections that were opened so far, and that are open. */
  opened = 0
  open = 0
  reads = 0
  readonly #server = new MemoryServer()

  constructor(kind: HalfKind) {
    this.kind = kind
    this.#server.create('INBOX', 'inbox')
    // Without any message, a first sync takes seconds.
    this.#server.deliver('INBOX', 'first', new Date(1.6e12))
  }

  connect(signal: AbortSignal): ConnectedAccount {
    if (this.trouble === 'refuse') throw this.#refusal()
    if (this.trouble !== null) throw new ProviderFailure('unavailable', 'The provider is down.')
    this.opened++
    this.open++
    this.#server.onAwait = () => this.#read(signal)
    const { mail, ...others } = memoryMail(this.#server)
    return {
      ...others,
      mail: {
        ...mail,
        watch: async (_, seconds, until) => {
          await pause(seconds * 1_000, until)
          return { arrived: false, changed: false, gone: false }
        },
      },
      [Symbol.asyncDispose]: async () => void this.open--,
    }
  }

  async #read(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.trouble === 'break') throw new ProviderFailure('unavailable', 'The connection broke.')
    if (this.trouble === 'hang')
      await new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason), { once: true }),
      )
    this.reads++
  }

  #refusal(): ProviderFailure {
    const reason = PROBLEMS[this.kind]
    return reason === 'server_not_allowed'
      ? new ProviderFailure('not_allowed', 'Not this server.')
      : new ProviderFailure('misconfigured', 'The app is wrong.', { reason: 'invalid_client' })
  }
}

/** The halves of all accounts, each at a host and with a connection of its own. */
export class ProvidedHalves {
  readonly #halves = new Map<string, ProvidedHalf>()

  of(accountId: string, kind: HalfKind): ProvidedHalf {
    const key = `${accountId} ${kind}`
    const half = this.#halves.get(key) ?? new ProvidedHalf(kind)
    this.#halves.set(key, half)
    return half
  }

  readonly connectorOf: ConnectorOf =
    ({ id }, kind) =>
    async () => ({
      version: '1',
      host: `${kind}.test`,
      syncWindowDays: null,
      isOneAtATime: true,
      acquire: async () => PERMIT,
      connect: async signal => this.of(id, kind).connect(signal),
    })
}

/** A follower of another kind than mail, in memory. Its passes read one list, and count themselves in the half. */
export function memoryFollower(
  db: Db,
  kind: HalfKind,
  onEnd: () => Promise<void> = async () => {},
): Follower {
  return {
    kind,
    begin: () => ({
      follow: connection => followInMemory(db, kind, connection),
      [Symbol.asyncDispose]: onEnd,
    }),
    weight: sql<number>`1`,
    metrics: [],
  }
}

async function followInMemory(
  db: Db,
  kind: HalfKind,
  { owned, connected, permit, stall, nudge, notice, report, pollSeconds, onProgress }: FollowedConnection,
): Promise<'caught_up' | 'more'> {
  for (;;) {
    nudge.clear()
    notice.clear()
    const { wanted } = await takeWanted(db, owned, kind)
    if (wanted.includes(RESTART)) return 'more'
    await connected.mail!.listMailboxes()
    stall.progressed()
    await beginLook(db, owned, kind)
    onProgress()
    await report.tell('live', `the ${kind} half is watched`)
    if (permit.isWanted) return 'caught_up'
    stall.allow(pollSeconds)
    await pause(pollSeconds * 1_000, nudge.signal, notice.signal, stall.signal)
    stall.signal.throwIfAborted()
  }
}
