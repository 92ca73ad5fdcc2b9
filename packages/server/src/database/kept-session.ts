import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Logger } from '../kit/log.ts'
import { tryConnect } from './embedded/cluster.ts'
import type { DatabaseAddress } from './pool.ts'
import { lostConnection } from './unavailable.ts'

const RECONNECT_SECONDS = 1
/** By then every living process whose session broke has a new one, and the sessions of ended processes are gone. */
export const SETTLED_SECONDS = 3 * RECONNECT_SECONDS

export interface KeptSession {
  address: DatabaseAddress
  applicationName: string
  log: Logger
  /** Prepares each new connection. */
  onConnect?: (client: Client) => Promise<void>
}

/** A dedicated connection that is held until disposed, and opened again whenever it breaks. */
export interface HeldSession extends AsyncDisposable {
  /** Resolves after the first attempt to connect, even if it failed. */
  tried: Promise<void>
}

export function keepSession(session: KeptSession): HeldSession {
  const stop = new AbortController()
  const first = Promise.withResolvers<void>()
  const done = keepConnecting(session, stop.signal, first.resolve)
  return {
    tried: first.promise,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await done
    },
  }
}

async function keepConnecting(session: KeptSession, signal: AbortSignal, onTried: () => void) {
  const { address, applicationName, log } = session
  while (!signal.aborted) {
    try {
      const client = await tryConnect(address, applicationName).finally(onTried)
      if (client) await holdUntilBroken(client, session, signal)
    } catch (error) {
      const lost = lostConnection(error, { text: 'listen', isInTransaction: false })
      log.warn({ error: lost ?? error, names: [applicationName] }, 'A connection to the database broke')
    }
    await sleep(RECONNECT_SECONDS * 1000, undefined, { signal }).catch(() => {})
  }
}

async function holdUntilBroken(client: Client, { onConnect }: KeptSession, signal: AbortSignal) {
  try {
    const broken = new Promise<void>(resolve => {
      client.once('end', resolve)
      signal.addEventListener('abort', () => resolve(), { once: true })
    })
    await onConnect?.(client)
    if (signal.aborted) return
    await broken
  } finally {
    await client.end().catch(() => {})
  }
}
