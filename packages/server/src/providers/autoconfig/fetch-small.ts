import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { request as requestOver } from 'node:https'
import { isIP } from 'node:net'
import { connect as connectSecurely, type SecureContext } from 'node:tls'
import { connectTo } from '../../kit/egress/connect.ts'
import type { EgressGuard } from '../../kit/egress/guard.ts'
import { within } from '../../kit/within.ts'

export interface Fetcher {
  guard: EgressGuard
  /** The authorities to trust; the public ones by default. */
  authorities?: SecureContext | undefined
}

export interface SmallRequest {
  method: 'GET' | 'PROPFIND'
  url: URL
  headers?: Record<string, string>
  body?: string
}

export interface SmallAnswer {
  /** The URL of the answer, after redirects. */
  url: URL
  status: number
  headers: IncomingHttpHeaders
  body: string
}

const REDIRECTS_MAX = 3
const REDIRECTS = new Set([301, 302, 303, 307, 308])
const BODY_BYTES_MAX = 256 * 1024
const HEADER_BYTES_MAX = 16 * 1024
const CONNECT_SECONDS = 5
const HTTPS_PORT = 443

/**
 * Requests from a server that a stranger may have named: only by HTTPS, only to addresses that the egress guard allows,
 * with at most 3 redirects, which are checked too, and at most 256 KB. Null if there is no such answer, for any reason.
 */
export async function fetchSmall(
  fetcher: Fetcher,
  request: SmallRequest,
  signal: AbortSignal,
): Promise<SmallAnswer | null> {
  let url = request.url
  for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
    const answer = await fetchOnce(fetcher, { ...request, url }, signal).catch(() => null)
    if (!answer || !REDIRECTS.has(answer.status)) return answer
    const next = URL.parse(answer.headers.location ?? '', url.href)
    if (!next) return null
    url = next
  }
  return null
}

async function fetchOnce(fetcher: Fetcher, request: SmallRequest, signal: AbortSignal): Promise<SmallAnswer> {
  const { url } = request
  if (url.protocol !== 'https:' || url.username !== '' || url.password !== '') {
    throw new Error('Not an HTTPS address')
  }
  const port = url.port === '' ? HTTPS_PORT : Number(url.port)
  const resolved = fetcher.guard.resolve({ host: url.hostname, port, kind: 'https' })
  const destination = await within(signal, resolved)
  await using opened = new AsyncDisposableStack()
  const socket = await connectTo(destination, { timeoutSeconds: CONNECT_SECONDS, signal })
  opened.defer(() => void socket.destroy())
  const { authorities } = fetcher
  const secured = connectSecurely({
    socket,
    host: destination.host,
    // RFC 6066 section 3 allows no addresses as a server name.
    ...(isIP(destination.host) === 0 && { servername: destination.host }),
    minVersion: 'TLSv1.2',
    ...(authorities && { secureContext: authorities }),
  })
  opened.defer(() => void secured.destroy())
  // Errors of an abandoned connection have no other listener.
  for (const each of [socket, secured]) each.on('error', () => {})
  const answer = await send(request, signal, () => secured)
  const { statusCode: status = 0, headers } = answer
  return { url, status, headers, body: REDIRECTS.has(status) ? '' : await readBounded(answer) }
}

function send(
  { method, url, headers, body }: SmallRequest,
  signal: AbortSignal,
  createConnection: () => ReturnType<typeof connectSecurely>,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  const request = requestOver(url, {
    method,
    // Without an agent, Node takes port 80 for the default, and would add ours to Host.
    defaultPort: HTTPS_PORT,
    createConnection,
    maxHeaderSize: HEADER_BYTES_MAX,
    signal,
    headers: { 'user-agent': 'Waxwing', 'accept-encoding': 'identity', connection: 'close', ...headers },
  })
  request.on('error', reject)
  request.once('response', resolve)
  request.end(body)
  return promise
}

async function readBounded(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) throw new Error(`More than ${BODY_BYTES_MAX} bytes`)
    chunks.push(chunk)
  }
  return new TextDecoder().decode(Buffer.concat(chunks))
}
