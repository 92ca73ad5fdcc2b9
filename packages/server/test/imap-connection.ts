import { connectImap, type ImapLogin } from '../src/providers/imap/connect.ts'
import { ImapConnection } from '../src/providers/imap/connection.ts'

/** Logs in at a server of tests, without TLS, as the adapter does. Disposing the connection logs out. */
export async function openImapConnection(
  { host, port }: { host: string; port: number },
  login: ImapLogin = { user: 'ada', password: 'secret' },
) {
  const endpoint = { addresses: [host], servername: 'localhost', port, security: 'none' } as const
  const { client, guard } = await connectImap(endpoint, login, new AbortController().signal)
  return { client, connection: new ImapConnection(client, guard) }
}
