import type { MailServer } from '../mail-server.ts'
import { ProviderFailure } from '../failure.ts'
import { watchGreeting } from '../greeting-watch.ts'
import { resolveServer } from '../resolve-server.ts'
import type { CheckOptions } from '../check-options.ts'
import { connectImap } from './connect.ts'
import { logOut } from './log-out.ts'

const CHECK_SECONDS = 20

/** Logs in to an IMAP server and out again. Throws `ProviderFailure`. */
export async function checkImap(options: CheckOptions, server: MailServer, password: string): Promise<void> {
  const { guard, authorities } = options
  const overtime = AbortSignal.timeout(CHECK_SECONDS * 1000)
  const destination = await resolveServer(guard, 'imap', server)
  using watch = watchGreeting(destination, server.security)
  const endpoint = {
    addresses: destination.addresses,
    servername: destination.host,
    port: destination.port,
    security: server.security,
    authorities,
    onGreeting: watch.greeted,
  }
  const ending = AbortSignal.any([overtime, watch.signal])
  try {
    const { client } = await connectImap(endpoint, { user: server.user, password }, ending)
    // Only the login matters. But the server counts the connection until it gets the LOGOUT.
    await logOut(client)
  } catch (error) {
    watch.signal.throwIfAborted()
    if (!overtime.aborted) throw error
    throw new ProviderFailure('unavailable', `The server did not answer within ${CHECK_SECONDS} seconds.`, {
      cause: error,
    })
  }
}
