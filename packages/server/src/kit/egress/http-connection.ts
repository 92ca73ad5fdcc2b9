import { once } from 'node:events'
import { isIP, type Socket } from 'node:net'
import { connect as connectTls, type SecureContext } from 'node:tls'
import type { buildConnector } from 'undici'
import { connectTo } from './connect.ts'
import { type Destination, EgressRefused, EgressUnresolved } from './guard.ts'

/** Why a request over HTTP got no answer. */
export type HttpError =
  | 'timeout'
  | 'dns_failed'
  | 'connection_refused'
  | 'connection_reset'
  | 'connection_failed'
  | 'tls_failed'
  | 'server_not_allowed'
  | 'invalid_answer'

export interface HttpConnectionOptions {
  isSecure: boolean
  /** The certificates that are trusted; undefined: those that Node trusts. */
  authorities: SecureContext | undefined
  /** For the name, the connection and TLS. */
  timeoutSeconds: number
}

/** Thrown if the TLS connection could not be made. */
export class TlsFailed extends Error {
  override name = 'TlsFailed'
}

/** Opens a connection for HTTP/1.1, with TLS 1.2 or later and a verified certificate if it is to be secure. */
export async function connectForHttp(
  resolve: () => Promise<Destination>,
  { isSecure, authorities, timeoutSeconds }: HttpConnectionOptions,
): Promise<Socket> {
  const signal = AbortSignal.timeout(timeoutSeconds * 1_000)
  const destination = await resolve()
  signal.throwIfAborted()
  const socket = await connectTo(destination, { timeoutSeconds, signal })
  if (!isSecure) return socket
  const secured = connectTls({
    socket,
    host: destination.host,
    ...(isIP(destination.host) ? {} : { servername: destination.host }),
    minVersion: 'TLSv1.2',
    ALPNProtocols: ['http/1.1'],
    ...(authorities ? { secureContext: authorities } : {}),
  })
  try {
    await once(secured, 'secureConnect', { signal })
  } catch (error) {
    socket.destroy()
    secured.on('error', () => {}).destroy()
    if (signal.aborted || codeOf(error) === 'ECONNRESET') throw error
    throw new TlsFailed('No TLS connection', { cause: error })
  }
  return secured
}

/** Hands a connection that is being opened over to undici. */
export async function handOver(opening: Promise<Socket>, done: buildConnector.Callback): Promise<void> {
  let socket: Socket
  try {
    socket = await opening
  } catch (error) {
    return done(error instanceof Error ? error : new Error(String(error)), null)
  }
  done(null, socket)
}

/** The reason behind an error of `connectForHttp` or of undici. */
export function httpErrorOf(error: unknown): HttpError {
  if (error instanceof EgressRefused) return 'server_not_allowed'
  if (error instanceof EgressUnresolved) return 'dns_failed'
  if (error instanceof TlsFailed) return 'tls_failed'
  const { name, message } = error instanceof Error ? error : new Error(String(error))
  const code = codeOf(error)
  if (name === 'TimeoutError' || name === 'AbortError' || code === 'ETIMEDOUT') return 'timeout'
  if (message.startsWith('No connection in ')) return 'timeout'
  if (code === 'ECONNREFUSED') return 'connection_refused'
  if (code === 'ECONNRESET' || code === 'EPIPE') return 'connection_reset'
  if (code === 'UND_ERR_SOCKET')
    return message === 'other side closed' ? 'connection_reset' : 'invalid_answer'
  if (code.startsWith('UND_ERR_') || name === 'HTTPParserError') return 'invalid_answer'
  return 'connection_failed'
}

/** The code of the last error, if several addresses failed. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && !('code' in error)) return codeOf(error.errors.at(-1))
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}
