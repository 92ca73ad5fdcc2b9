import { isIP } from 'node:net'
import type { SecureContext } from 'node:tls'
import { ImapFlow } from 'imapflow'
import { ProviderFailure } from '../failure.ts'
import { type AnswerGuard, guardAnswers } from './answer-guard.ts'
import { NUMBERS_LINE_BYTES_MAX } from './answer-line.ts'
import { toFailure } from './failure.ts'

/** Where an IMAP server is, after the egress guard resolved its name. */
export interface ImapEndpoint {
  /** Addresses that were checked, best first: nothing is resolved again. They are tried in turn. */
  addresses: readonly string[]
  /** The name that the certificate must bear, also sent as SNI. */
  servername: string
  port: number
  security: 'tls' | 'starttls' | 'none'
  /** The authorities to trust; the public ones by default. */
  authorities?: SecureContext | undefined
}

export interface ImapLogin {
  user: string
  password: string
}

/** One address of several is given so long; a route that leads nowhere must not use up the whole attempt. */
const CONNECT_MS = 15_000
const GREETING_MS = 30_000
/** The watch over silence is ours (`connection.ts`); imapflow's own would break an IDLE that is not its. */
const SOCKET_SILENCE_MS = 24 * 60 * 60_000
/** From the first attempt to connect to the end of the login. */
const LOGIN_MS = 60_000
/** Nothing that is asked for is larger than 256 KB of content. */
const LITERAL_BYTES_MAX = 512 * 1024
/** What the parser of one connection holds at most. */
const RESPONSE_BYTES_MAX = NUMBERS_LINE_BYTES_MAX + 2 * LITERAL_BYTES_MAX

export interface ConnectedClient {
  client: ImapFlow
  guard: AnswerGuard
}

/**
 * Connects and logs in. TLS is verified and at least 1.2; with `starttls` nothing secret is sent before it, and a
 * server that says more than it may before the handshake is refused. Throws `ProviderFailure`.
 */
export async function connectImap(
  endpoint: ImapEndpoint,
  login: ImapLogin,
  signal: AbortSignal,
): Promise<ConnectedClient> {
  let unreachable: unknown = new ProviderFailure('unavailable', 'The server has no address.')
  for (const address of endpoint.addresses) {
    try {
      return await connectTo(address, endpoint, login, signal)
    } catch (error) {
      if (signal.aborted || !isUnreachable(error)) throw error
      unreachable = error
    }
  }
  throw unreachable
}

const UNREACHABLE = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'CONNECT_TIMEOUT'])

/** Nothing answers at this address, while another one may. */
function isUnreachable(error: unknown): boolean {
  const cause = error instanceof ProviderFailure ? error.cause : null
  return cause instanceof Error && 'code' in cause && UNREACHABLE.has(String(cause.code))
}

async function connectTo(
  address: string,
  endpoint: ImapEndpoint,
  login: ImapLogin,
  signal: AbortSignal,
): Promise<ConnectedClient> {
  const client = new ImapFlow({
    host: address,
    port: endpoint.port,
    ...(isIP(endpoint.servername) ? {} : { servername: endpoint.servername }),
    secure: endpoint.security === 'tls',
    doSTARTTLS: endpoint.security === 'tls' ? undefined : endpoint.security === 'starttls',
    tls: {
      minVersion: 'TLSv1.2',
      rejectUnauthorized: true,
      ...(endpoint.authorities ? { secureContext: endpoint.authorities } : {}),
    },
    auth: { user: login.user, pass: login.password },
    logger: false,
    emitLogs: true,
    clientInfo: { name: 'Waxwing', vendor: 'Waxwing', version: false, 'support-url': false },
    disableAutoIdle: true,
    disableAutoEnable: true,
    disableIMAP4rev2: true,
    disableCompression: true,
    connectionTimeout: CONNECT_MS,
    greetingTimeout: GREETING_MS,
    socketTimeout: SOCKET_SILENCE_MS,
    maxLineLength: NUMBERS_LINE_BYTES_MAX,
    maxLiteralSize: LITERAL_BYTES_MAX,
    maxResponseSize: RESPONSE_BYTES_MAX,
  })
  // Whatever is emitted here also ends the command in flight, or the next one; unheard it would end the process.
  client.on('error', () => client.close())
  const guard = guardAnswers(client)
  const isOtherProtocol = closeUnlessGreeted(client)
  const abort = () => client.close()
  signal.addEventListener('abort', abort)
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    client.close()
  }, LOGIN_MS)
  try {
    signal.throwIfAborted()
    await client.connect()
    return { client, guard }
  } catch (error) {
    client.close()
    if (isLate)
      throw new ProviderFailure('unavailable', 'The server did not complete the login in time.', {
        cause: error,
      })
    if (!isOtherProtocol()) throw toFailure(error)
    throw new ProviderFailure(
      'unsupported',
      `What answers on port ${endpoint.port} is no IMAP server. Check host and port.`,
      { cause: error },
    )
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}

/**
 * Closes a connection whose first line is no greeting of IMAP, which is untagged (RFC 9051 section 7.1); SMTP begins with
 * `220 …`. imapflow would wait for one, and tells of other lines only in its log. @returns whether that was so
 */
function closeUnlessGreeted(client: ImapFlow): () => boolean {
  let isOtherProtocol = false
  client.on('log', entry => {
    if (entry.src !== 's') return
    client.emitLogs = false
    isOtherProtocol = !String(entry.msg).startsWith('* ')
    if (isOtherProtocol) client.close()
  })
  return () => isOtherProtocol
}
