import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Logger } from '../kit/log.ts'
import { tryConnect } from './embedded/cluster.ts'
import type { DatabaseAddress } from './pool.ts'

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

/** Holds a dedicated connection until disposed, and connects again whenever it breaks. */
export function keepSession(session: KeptSession): AsyncDisposable {
  const stop = new AbortController()
  const done = keepConnecting(session, stop.signal)
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await done
    },
  }
}

async function keepConnecting(session: KeptSession, signal: AbortSignal) {
  const { address, applicationName, log } = session
  while (!signal.aborted) {
    try {
      const client = await tryConnect(address, applicationName)
      if (client) await holdUntilBroken(client, session, signal)
    } catch (error) {
      log.warn({ error, names: [applicationName] }, 'A connection to the database broke')
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
