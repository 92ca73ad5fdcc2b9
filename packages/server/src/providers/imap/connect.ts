import { isIP } from 'node:net'
import type { SecureContext } from 'node:tls'
import { ImapFlow } from 'imapflow'
import { ProviderFailure } from '../failure.ts'
import { type AnswerGuard, guardAnswers } from './answer-guard.ts'
import { NUMBERS_LINE_BYTES_MAX } from './answer-line.ts'
import { LITERAL_BYTES_MAX } from './expected-answers.ts'
import { toFailure } from './failure.ts'

/** The address of an IMAP server, after the egress guard resolved its name. */
export interface ImapEndpoint {
  /** The checked addresses, best first: nothing is resolved again. They are tried in turn. */
  addresses: readonly string[]
  /** The name that the certificate must have, also sent as SNI. */
  servername: string
  port: number
  security: 'tls' | 'starttls' | 'none'
  /** The authorities to trust; the public ones by default. */
  authorities?: SecureContext | undefined
  /** Called when the server has greeted. */
  onGreeting?: () => void
}

export interface ImapLogin {
  user: string
  password: string
}

/** Time for one of several addresses; a dead route must not use up the whole attempt. */
const CONNECT_MS = 15_000
const GREETING_MS = 30_000
/**
 * We watch for silence ourselves (`connection.ts`); imapflow's own timeout would break an IDLE that it did not start.
 */
const SOCKET_SILENCE_MS = 24 * 60 * 60_000
/** Time from the first attempt to connect until the end of the login. */
const LOGIN_MS = 60_000
/** Maximum memory of the parser of one connection. */
const RESPONSE_BYTES_MAX = NUMBERS_LINE_BYTES_MAX + 2 * LITERAL_BYTES_MAX

export interface ConnectedClient {
  client: ImapFlow
  guard: AnswerGuard
}

/**
 * Connects and logs in. TLS is verified and at least 1.2. With `starttls`, nothing secret is sent before the handshake,
 * and a server that sends more than it may before it is refused. Throws `ProviderFailure`.
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

/** No server answers at this address, but one may at another. */
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
  // Every error also ends the command in progress, or the next one; without a listener it would end the process.
  client.on('error', () => client.close())
  const guard = guardAnswers(client)
  const isOtherProtocol = closeUnlessGreeted(client, endpoint.onGreeting)
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
      `The server on port ${endpoint.port} is not an IMAP server. Check host and port.`,
      { cause: error },
    )
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', abort)
  }
}

/**
 * Closes a connection whose first line is not a greeting of IMAP, which is untagged (RFC 9051 section 7.1); SMTP
 * begins with `220 …`. imapflow would wait for a greeting, and reports other lines only in its log. @returns whether
 * it was closed
 */
function closeUnlessGreeted(client: ImapFlow, onGreeting?: () => void): () => boolean {
  let isOtherProtocol = false
  client.on('log', entry => {
    if (entry.src !== 's') return
    client.emitLogs = false
    isOtherProtocol = !String(entry.msg).startsWith('* ')
    if (isOtherProtocol) client.close()
    else onGreeting?.()
  })
  return () => isOtherProtocol
}
