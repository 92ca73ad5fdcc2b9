import type { Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import { type Dispatcher, Pool } from 'undici'
import type { Destination } from './guard.ts'
import { connectForHttp, handOver, type HttpError, httpErrorOf } from './http-connection.ts'

export interface Post {
  url: URL
  /** Posts of different groups share no connections. */
  group: string
  headers: Record<string, string>
  body: string
}

/** Answer of the receiver. `error` is set exactly if there was no status. */
export interface Posted {
  statusCode: number | null
  error: HttpError | null
  headers: Readonly<Record<string, string | string[] | undefined>>
  /** The beginning of the answer's content. */
  content: Buffer
  /** Until the status or the failure was known. */
  durationMilliseconds: number
}

export interface PosterOptions {
  /** Checks and resolves a target. Called before each connection. */
  resolve(url: URL): Promise<Destination>
  /** The certificates that are trusted; undefined: those that Node trusts. */
  authorities: SecureContext | undefined
  /** For the name, the connection, TLS, the status and what is read of the content. */
  timeoutSeconds: number
}

const HEADER_BYTES_MAX = 16_384
const CONTENT_BYTES_MAX = 4_096
/** An idle connection is closed after this time, or as soon as the server announced that it will close it. */
const KEEP_ALIVE_SECONDS = 10
/** A group of connections that nothing used is forgotten after this time. */
const IDLE_SECONDS = 60

interface KeptPool {
  pool: Pool
  running: number
  usedAt: number
  /** When its last connection was opened. */
  connectedAt: number
}

/**
 * Posts to URLs that tenants name: HTTP/1.1, TLS 1.2 or later with verified certificates, no redirects, no proxy. The
 * address is checked at each connection. An answer costs no more than its bounds, whatever is sent.
 */
export class Poster implements AsyncDisposable {
  readonly #options: PosterOptions
  readonly #pools = new Map<string, KeptPool>()
  readonly #sweep: NodeJS.Timeout

  constructor(options: PosterOptions) {
    this.#options = options
    this.#sweep = setInterval(() => this.#forgetIdle(), IDLE_SECONDS * 500).unref()
  }

  /** Never rejects. */
  async post(post: Post): Promise<Posted> {
    const startedAt = performance.now()
    const kept = this.#poolFor(post)
    kept.running++
    const left = () => this.#options.timeoutSeconds * 1_000 - (performance.now() - startedAt)
    let posted = await postOnce(kept.pool, post, left())
    // A server may close an idle connection just when it is used again. Nothing was answered, so it is asked again.
    const isStale = posted.error === 'connection_reset' && kept.connectedAt < startedAt
    if (isStale) posted = await postOnce(kept.pool, post, left())
    kept.running--
    kept.usedAt = performance.now()
    return { ...posted, durationMilliseconds: posted.answeredAt - startedAt }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#sweep)
    await Promise.all([...this.#pools.values()].map(({ pool }) => pool.destroy()))
  }

  #poolFor({ url, group }: Post): KeptPool {
    const key = `${group} ${url.origin}`
    const known = this.#pools.get(key)
    if (known) return known
    const kept: KeptPool = {
      running: 0,
      usedAt: performance.now(),
      connectedAt: -Infinity,
      pool: new Pool(url.origin, {
        connect: (_, done) => {
          kept.connectedAt = performance.now()
          void handOver(this.#connect(url), done)
        },
        allowH2: false,
        pipelining: 1,
        maxHeaderSize: HEADER_BYTES_MAX,
        keepAliveTimeout: KEEP_ALIVE_SECONDS * 1_000,
        keepAliveMaxTimeout: KEEP_ALIVE_SECONDS * 1_000,
        // The deadline of each post covers both.
        headersTimeout: 0,
        bodyTimeout: 0,
      }),
    }
    this.#pools.set(key, kept)
    return kept
  }

  #connect(url: URL): Promise<Socket> {
    const { resolve, authorities, timeoutSeconds } = this.#options
    const isSecure = url.protocol !== 'http:'
    return connectForHttp(() => resolve(url), { isSecure, authorities, timeoutSeconds })
  }

  #forgetIdle(): void {
    const before = performance.now() - IDLE_SECONDS * 1_000
    for (const [key, { pool, running, usedAt }] of this.#pools) {
      if (running > 0 || usedAt > before) continue
      this.#pools.delete(key)
      void pool.destroy()
    }
  }
}

type Answered = Omit<Posted, 'durationMilliseconds'> & { answeredAt: number }

function postOnce(pool: Pool, { url, headers, body }: Post, milliseconds: number): Promise<Answered> {
  const { promise, resolve } = Promise.withResolvers<Answered>()
  const answer: Answered = {
    statusCode: null,
    error: null,
    headers: {},
    content: Buffer.alloc(0),
    answeredAt: 0,
  }
  let controller: Dispatcher.DispatchController | null = null
  let isOver = false
  const end = (error: HttpError | null) => {
    if (isOver) return
    isOver = true
    clearTimeout(timer)
    // A status that is known decides, whatever became of the content.
    if (answer.statusCode === null) Object.assign(answer, { error, answeredAt: performance.now() })
    resolve(answer)
  }
  const giveUp = (error: HttpError) => {
    end(error)
    controller?.abort(new Error('The post has ended'))
  }
  const timer = setTimeout(() => giveUp('timeout'), Math.max(0, milliseconds))
  pool.dispatch(
    { path: url.pathname + url.search, method: 'POST', headers, body },
    {
      onRequestStart(started) {
        controller = started
        if (isOver) started.abort(new Error('The post has ended'))
      },
      onResponseStart(_, statusCode, received) {
        if (statusCode < 200) return
        Object.assign(answer, { statusCode, headers: received, answeredAt: performance.now() })
      },
      onResponseData(_, chunk) {
        const room = CONTENT_BYTES_MAX - answer.content.length
        answer.content = Buffer.concat([answer.content, chunk.subarray(0, room)])
        if (answer.content.length === CONTENT_BYTES_MAX) giveUp('invalid_answer')
      },
      onResponseEnd: () => end(null),
      onResponseError: (_, error) => end(httpErrorOf(error)),
    },
  )
  return promise
}
