import type { SecureContext } from 'node:tls'
import { type Dispatcher, Pool } from 'undici'
import { parseEgressAllow } from '../../kit/egress/allow-list.ts'
import { type EgressGuard, egressGuard } from '../../kit/egress/guard.ts'
import { connectForHttp, handOver } from '../../kit/egress/http-connection.ts'
import { ProviderFailure } from '../failure.ts'
import { type AnswerHeaders, ConnectionReset, exchange, type OpenAnswer } from './exchange.ts'

export interface ProviderCall {
  /** A host of the provider, such as `gmail.googleapis.com`: a constant of the adapter, never a name from an answer. */
  host: string
  method: Dispatcher.HttpMethod
  /** Path and query. */
  path: string
  headers?: Readonly<Record<string, string>>
  /** A stream needs a `content-length` in the headers. If it fails, the call rejects with its error. */
  body?: string | Uint8Array | AsyncIterable<Uint8Array>
  /**
   * Whether it may be sent twice. If it may, it is sent again if a connection that was kept open has broken. By default
   * only GET may.
   */
  isRepeatable?: boolean
  /** The bytes of content that the answer may have; 1 MiB by default. */
  answerBytesMax?: number
  /** Seconds until the status; 30 by default. */
  firstByteSeconds?: number
  /** Seconds until the last byte; 60 by default. */
  wholeSeconds?: number
  /** Seconds for which all content may wait to be read, after which it ends with `AnswerUnread`; no limit by default. */
  unreadSeconds?: number
  signal?: AbortSignal | undefined
}

/** An answer of any status. */
export interface ProviderAnswer {
  status: number
  headers: AnswerHeaders
  content: Buffer
}

export interface ProviderCallsOptions {
  guard: EgressGuard
  /** The authorities to trust; undefined for Node's own. */
  authorities: SecureContext | undefined
  /**
   * The origins that stand in for the hosts of providers. A host that is not among them is refused, and no others are
   * connected to. Null: the providers themselves, by HTTPS.
   */
  standIns: ReadonlyMap<string, URL> | null
}

/** Longer than any provider needs to accept a connection. */
const CONNECT_SECONDS = 10
const FIRST_BYTE_SECONDS = 30
const WHOLE_SECONDS = 60
const ANSWER_BYTES_MAX = 1024 * 1024
const HEADER_BYTES_MAX = 32_768
/** Below the 4 minutes after which Google closes an idle connection. */
const KEEP_ALIVE_SECONDS = 60
/** Connections to one host, over all accounts. */
const CONNECTIONS_MAX = 128
const HTTPS_PORT = 443

/**
 * Calls the HTTP interfaces of providers: HTTP/1.1 over TLS with verified certificates, no redirects, no proxy. The
 * address is checked at each connection. An answer costs no more than its bounds, even if more is sent. The connections
 * to a host are shared by all accounts.
 */
export class ProviderCalls implements AsyncDisposable {
  readonly #options: ProviderCallsOptions
  readonly #pools = new Map<string, Pool>()

  constructor(options: ProviderCallsOptions) {
    const { standIns } = options
    this.#options = standIns ? { ...options, guard: guardOfStandIns(standIns) } : options
  }

  /**
   * Sends a call and reads the whole answer. Rejects with `ProviderFailure`, `isBeforeAcceptance` unless the provider may
   * have got the request, or with the error of the body that was to be sent.
   */
  async call(call: ProviderCall): Promise<ProviderAnswer> {
    await using answer = await this.open(call)
    const chunks: Buffer[] = []
    for await (const chunk of answer.content) chunks.push(chunk)
    return { status: answer.status, headers: answer.headers, content: Buffer.concat(chunks) }
  }

  /** Like `call`, for an answer whose content is read as it comes. */
  async open(call: ProviderCall): Promise<OpenAnswer> {
    const { host, method, path, headers = {}, body = null, signal, isRepeatable = method === 'GET' } = call
    const pool = this.#poolOf(host)
    const request = {
      method,
      path,
      headers: { 'user-agent': 'Waxwing', ...headers },
      body,
      answerBytesMax: call.answerBytesMax ?? ANSWER_BYTES_MAX,
      firstByteSeconds: call.firstByteSeconds ?? FIRST_BYTE_SECONDS,
      wholeSeconds: call.wholeSeconds ?? WHOLE_SECONDS,
      unreadSeconds: call.unreadSeconds ?? null,
      signal,
    }
    try {
      return await exchange(pool, request)
    } catch (error) {
      // A server may close an idle connection just when it is used again.
      if (!(error instanceof ConnectionReset) || !isRepeatable) throw error
      return exchange(pool, request)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#pools.values()].map(pool => pool.destroy()))
  }

  #poolOf(host: string): Pool {
    const known = this.#pools.get(host)
    if (known) return known
    const { guard, authorities, standIns } = this.#options
    const origin = standIns ? standIns.get(host) : new URL(`https://${host}`)
    if (!origin) throw new ProviderFailure('not_allowed', `The sandbox does not play ${host}.`)
    const isSecure = origin.protocol === 'https:'
    const target = { host: origin.hostname, port: portOf(origin), kind: 'https' } as const
    const pool = new Pool(origin, {
      connect: (_, done) =>
        void handOver(
          connectForHttp(() => guard.resolve(target), {
            isSecure,
            authorities,
            timeoutSeconds: CONNECT_SECONDS,
          }),
          done,
        ),
      allowH2: false,
      pipelining: 1,
      connections: CONNECTIONS_MAX,
      maxHeaderSize: HEADER_BYTES_MAX,
      keepAliveTimeout: KEEP_ALIVE_SECONDS * 1_000,
      keepAliveMaxTimeout: KEEP_ALIVE_SECONDS * 1_000,
      // The deadlines of each call cover both.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
    this.#pools.set(host, pool)
    return pool
  }
}

function guardOfStandIns(standIns: ReadonlyMap<string, URL>): EgressGuard {
  const allow = [...standIns.values()].map(origin => `${origin.hostname}:${portOf(origin)}`)
  return egressGuard({ allow: parseEgressAllow(allow) })
}

function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port)
  return protocol === 'http:' ? 80 : HTTPS_PORT
}
