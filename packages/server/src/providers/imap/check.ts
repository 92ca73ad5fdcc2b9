import { setTimeout as sleep } from 'node:timers/promises'
import type { MailServer } from '../sign-in.ts'
import { ProviderFailure } from '../failure.ts'
import { resolveServer } from '../resolve-server.ts'
import type { CheckOptions } from '../server-check.ts'
import { connectImap } from './connect.ts'

const CHECK_SECONDS = 20
const LOGOUT_MS = 1_000

/** Logs in to an IMAP server and out again. Throws `ProviderFailure`. */
export async function checkImap(options: CheckOptions, server: MailServer, password: string): Promise<void> {
  const { guard, authorities } = options
  const signal = AbortSignal.timeout(CHECK_SECONDS * 1000)
  const destination = await resolveServer(guard, 'imap', server)
  const endpoint = {
    addresses: destination.addresses,
    servername: destination.host,
    port: destination.port,
    security: server.security,
    authorities,
  }
  try {
    const { client } = await connectImap(endpoint, { user: server.user, password }, signal)
    // Only the login matters. But the server counts the connection until it gets the LOGOUT.
    await Promise.race([client.logout().catch(() => {}), sleep(LOGOUT_MS, undefined, { ref: false })])
    client.close()
  } catch (error) {
    if (!signal.aborted) throw error
    throw new ProviderFailure('unavailable', `The server did not answer within ${CHECK_SECONDS} seconds.`, {
      cause: error,
    })
  }
}
