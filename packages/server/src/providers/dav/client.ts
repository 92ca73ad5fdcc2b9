import type { SecureContext } from 'node:tls'
import { Pool } from 'undici'
import type { EgressGuard } from '../../kit/egress/guard.ts'
import { connectForHttp, handOver, TlsFailed } from '../../kit/egress/http-connection.ts'
import { ProviderFailure, restate } from '../failure.ts'
import { readRefusal } from '../http/answers.ts'
import { ConnectionReset, exchange, type OpenAnswer } from '../http/exchange.ts'
import { tlsReason } from '../tls-reason.ts'
import { StatusFailure } from './failure.ts'
import type { DavLogin, LoginSchemes } from './login.ts'
import { isTrusted, type TrustedDomain } from './trusted-domain.ts'

export interface DavClientOptions {
  guard: EgressGuard
  /** The authorities to trust; undefined for those that Node trusts. */
  authorities: SecureContext | undefined
  /** Null for requests that must not carry a password, to any server. */
  access: DavAccess | null
  /** Ends all requests. */
  signal?: AbortSignal
}

/** A login, and the servers that get it. Requests go to no others. */
export interface DavAccess {
  login: DavLogin
  trusted: TrustedDomain
  /** Kept by the caller over several connections. */
  schemes: LoginSchemes
}

/** Requests that change something. They are not sent again after a broken connection. */
const CHANGING = ['PUT', 'DELETE', 'MOVE', 'MKCALENDAR', 'PROPPATCH'] as const
type ChangingMethod = (typeof CHANGING)[number]

export interface DavRequest {
  method: 'GET' | 'OPTIONS' | 'PROPFIND' | 'REPORT' | 'POST' | ChangingMethod
  url: URL
  headers?: Readonly<Record<string, string>>
  /** Sent as XML, unless the headers have another type. */
  body?: string | Uint8Array
  /** Default: 1 MiB. */
  answerBytesMax?: number
  /** Seconds until the last byte; 60 by default. */
  wholeSeconds?: number
  signal?: AbortSignal | undefined
}

/** An answer of any status but 401 and those of redirects. */
export interface DavAnswer extends OpenAnswer {
  /** The URL that answered, after redirects. */
  url: URL
}

const REDIRECTS_MAX = 3
const REDIRECTS = new Set([301, 302, 303, 307, 308])
/** A request is tried without a login, then with one, and once more if the server names a new nonce. */
const LOGIN_TRIES_MAX = 3
const ANSWER_BYTES_MAX = 1024 * 1024
const HEADER_BYTES_MAX = 32_768
const CONNECT_SECONDS = 10
const FIRST_BYTE_SECONDS = 30
const WHOLE_SECONDS = 60
/** The connections of a client to a server are closed this long after its last request. */
const IDLE_SECONDS = 5
/** The permit that a host gives an account is for one connection. */
const CONNECTIONS_MAX = 1

interface OpenPool {
  pool: Pool
  running: number
  idle: NodeJS.Timeout | undefined
}

/**
 * Requests to the DAV servers of one account: HTTP/1.1, with TLS 1.2 or later and verified certificates unless the URL
 * is one without TLS. Each connection, redirected or not, passes the egress guard. The password goes only to the servers of the trusted
 * domain, and a redirect or an address elsewhere is refused. An idle client holds no socket. Methods reject with
 * `ProviderFailure`.
 */
export class DavClient implements AsyncDisposable {
  readonly #options: DavClientOptions
  readonly #pools = new Map<string, OpenPool>()

  constructor(options: DavClientOptions) {
    this.#options = options
  }

  /** Sends a request, logs in if the server asks for it, and follows at most 3 redirects with method and body. */
  async send(request: DavRequest): Promise<DavAnswer> {
    let { url } = request
    for (let redirects = 0; redirects <= REDIRECTS_MAX; redirects += 1) {
      const answer = await this.#logIn({ ...request, url })
      if (!REDIRECTS.has(answer.status)) return answer
      const { headers } = await readRefusal(answer)
      const next = typeof headers['location'] === 'string' ? URL.parse(headers['location'], url.href) : null
      // 303 is the answer to a form. It says nothing about a change of a resource.
      if (!next || (answer.status === 303 && isChange(request))) break
      url = next
    }
    throw new ProviderFailure('unavailable', 'The server redirects without end.')
  }

  /**
   * Logs in to a server from now on although it did not ask for that, since it shows other things to users who are not logged in. Returns
   * false if it was logged in to already.
   */
  insistOnLogin(url: URL): boolean {
    const { access } = this.#options
    if (!access || access.schemes.knows(url)) return false
    access.schemes.useBasic(url)
    return true
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#pools.keys()].map(origin => this.#close(origin)))
  }

  async #logIn(request: DavRequest): Promise<DavAnswer> {
    const { url } = request
    const { access } = this.#options
    const mayAsk = access ? isTrusted(url, access.trusted) : url.protocol === 'https:'
    if (!mayAsk || url.username !== '' || url.password !== '') refuseServer(url, access)
    for (let tries = 1; ; tries += 1) {
      const authorization = access?.schemes.authorize(access.login, request) ?? null
      const answer = await this.#sendOnce(request, authorization)
      if (!access || (answer.status !== 401 && answer.status !== 403)) return answer
      if (answer.status === 403) {
        // Some servers refuse strangers without asking who they are.
        if (authorization !== null || tries === LOGIN_TRIES_MAX) return answer
        access.schemes.useBasic(url)
        await readRefusal(answer)
        continue
      }
      const { headers } = await readRefusal(answer)
      const mayRepeat = access.schemes.refused(url, headers, authorization)
      if (!mayRepeat || tries === LOGIN_TRIES_MAX) throw new StatusFailure(401, headers)
    }
  }

  async #sendOnce(request: DavRequest, authorization: string | null): Promise<DavAnswer> {
    const { method, url, headers = {}, body = null } = request
    const signals = [this.#options.signal, request.signal].filter(signal => signal !== undefined)
    const sent = {
      method,
      path: url.pathname + url.search,
      headers: {
        'user-agent': 'Waxwing',
        'accept-encoding': 'identity',
        ...(body !== null && { 'content-type': 'application/xml; charset=utf-8' }),
        ...headers,
        ...(authorization !== null && { authorization }),
      },
      body,
      answerBytesMax: request.answerBytesMax ?? ANSWER_BYTES_MAX,
      firstByteSeconds: FIRST_BYTE_SECONDS,
      wholeSeconds: request.wholeSeconds ?? WHOLE_SECONDS,
      unreadSeconds: null,
      signal: signals.length > 1 ? AbortSignal.any(signals) : signals[0],
    }
    const opened = this.#open(url)
    try {
      const answer = await exchange(opened.pool, sent).catch((error: unknown) => {
        // A server may close an idle connection just when it is used again.
        if (!(error instanceof ConnectionReset) || isChange(request)) throw error
        return exchange(opened.pool, sent)
      })
      void answer.received.then(() => this.#ended(url.origin, opened))
      return { ...answer, url }
    } catch (error) {
      this.#ended(url.origin, opened)
      throw describe(error)
    }
  }

  #open(url: URL): OpenPool {
    const known = this.#pools.get(url.origin)
    const opened = known ?? { pool: this.#newPool(url), running: 0, idle: undefined }
    this.#pools.set(url.origin, opened)
    clearTimeout(opened.idle)
    opened.running += 1
    return opened
  }

  #ended(origin: string, opened: OpenPool): void {
    opened.running -= 1
    if (opened.running > 0) return
    opened.idle = setTimeout(() => void this.#close(origin), IDLE_SECONDS * 1_000).unref()
  }

  async #close(origin: string): Promise<void> {
    const opened = this.#pools.get(origin)
    this.#pools.delete(origin)
    clearTimeout(opened?.idle)
    await opened?.pool.destroy()
  }

  #newPool(url: URL): Pool {
    const { guard, authorities } = this.#options
    const isSecure = url.protocol !== 'http:'
    const port = url.port === '' ? (isSecure ? 443 : 80) : Number(url.port)
    const target = { host: url.hostname, port, kind: 'https' } as const
    const connection = { isSecure, authorities, timeoutSeconds: CONNECT_SECONDS }
    return new Pool(url.origin, {
      connect: (_, done) =>
        void handOver(
          connectForHttp(() => guard.resolve(target), connection),
          done,
        ),
      allowH2: false,
      pipelining: 1,
      connections: CONNECTIONS_MAX,
      maxHeaderSize: HEADER_BYTES_MAX,
      keepAliveTimeout: IDLE_SECONDS * 1_000,
      keepAliveMaxTimeout: IDLE_SECONDS * 1_000,
      // The deadlines of each request cover both.
      headersTimeout: 0,
      bodyTimeout: 0,
    })
  }
}

function isChange({ method }: DavRequest): boolean {
  return CHANGING.some(changing => changing === method)
}

function refuseServer({ protocol, host }: URL, access: DavAccess | null): never {
  const { domain, isPlain } = access?.trusted ?? { domain: 'any host', isPlain: false }
  const servers = `servers of ${domain}${isPlain ? '' : ' over TLS'}`
  throw new ProviderFailure(
    'not_allowed',
    `The server leads to ${protocol}//${host}, but this service asks only ${servers}.`,
  )
}

/** Adds advice if there was no secure connection. */
function describe(error: unknown): unknown {
  if (!(error instanceof ProviderFailure) || !(error.cause instanceof TlsFailed)) return error
  const reason = tlsReason(error.cause.cause)
  return restate(error, { message: `No secure connection to the server: ${reason}` })
}
