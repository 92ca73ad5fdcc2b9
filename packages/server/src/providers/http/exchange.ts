import { Readable } from 'node:stream'
import type { Dispatcher, Pool } from 'undici'
import { httpErrorOf } from '../../kit/egress/http-connection.ts'
import { EgressRefused } from '../../kit/egress/guard.ts'
import { ProviderFailure } from '../failure.ts'

export type AnswerHeaders = Readonly<Record<string, string | string[] | undefined>>

export interface Exchange {
  path: string
  method: Dispatcher.HttpMethod
  headers: Readonly<Record<string, string>>
  body: string | Uint8Array | AsyncIterable<Uint8Array> | null
  answerBytesMax: number
  firstByteSeconds: number
  wholeSeconds: number
  unreadSeconds: number | null
  signal: AbortSignal | undefined
}

/** An answer whose content is still to come. Disposing it ends the exchange. */
export interface OpenAnswer extends AsyncDisposable {
  status: number
  headers: AnswerHeaders
  /** Throws `ProviderFailure`. The connection is read only as fast as this is. */
  content: AsyncIterable<Buffer>
  /** Resolves when no more bytes come: all are there, though they may still be unread, or the exchange has ended. */
  received: Promise<void>
}

/** A failure of a connection that a server closed before it answered anything. */
export class ConnectionReset extends ProviderFailure {}

/** A failure of an answer whose reader paused for too long. */
export class AnswerUnread extends ProviderFailure {}

/**
 * Sends one request and waits for the beginning of its answer. Rejects with `ProviderFailure`, or with the error of the
 * body that was to be sent: then the request is incomplete, and nothing was accepted.
 */
export function exchange(pool: Pool, request: Exchange): Promise<OpenAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<OpenAnswer>()
  const received = Promise.withResolvers<void>()
  const { signal, answerBytesMax, unreadSeconds } = request
  let controller: Dispatcher.DispatchController | null = null
  let isOver = false
  let bytes = 0
  let bodyError: { cause: unknown } | null = null
  let unreadMs = 0
  let pausedAt: number | null = null
  let unread: NodeJS.Timeout | undefined

  const content = new Readable({
    read: resume,
    destroy(error, done) {
      end()
      done(error)
    },
  })
  // An error before the content rejects the wait for the answer, so it needs no listener.
  content.on('error', () => {})

  function end(): void {
    if (isOver) return
    isOver = true
    for (const timer of [firstByte, whole, unread]) clearTimeout(timer)
    received.resolve()
    signal?.removeEventListener('abort', giveUp)
    controller?.abort(new Error('The exchange has ended'))
  }
  function fail(error: unknown): void {
    reject(error)
    content.destroy(error instanceof Error ? error : new Error(String(error)))
  }
  const unanswered = (message: string) =>
    new ProviderFailure('unavailable', message, { isBeforeAcceptance: !controller, isBusy: !controller })
  function pause(): void {
    if (isOver) return
    controller?.pause()
    pausedAt ??= performance.now()
    if (unreadSeconds !== null) unread ??= setTimeout(notRead, Math.max(0, unreadSeconds * 1_000 - unreadMs))
  }
  function resume(): void {
    if (pausedAt !== null) unreadMs += performance.now() - pausedAt
    pausedAt = null
    clearTimeout(unread)
    unread = undefined
    controller?.resume()
  }
  const giveUp = () => fail(unanswered('It was given up.'))
  const tooLate = () =>
    fail(unanswered(controller ? 'The provider took too long.' : 'All connections to it are in use.'))
  const notRead = () => fail(new AnswerUnread('unavailable', 'The content was not read in time.'))
  const firstByte = setTimeout(tooLate, request.firstByteSeconds * 1_000)
  const whole = setTimeout(tooLate, request.wholeSeconds * 1_000)
  if (signal?.aborted) giveUp()
  else signal?.addEventListener('abort', giveUp, { once: true })
  if (isOver) return promise

  const { path, method, body } = request
  const sent = isStream(body) ? Readable.from(noting(body, cause => (bodyError = { cause }))) : body
  pool.dispatch(
    { path, method, headers: request.headers, body: sent },
    {
      onRequestStart(started) {
        controller = started
        if (isOver) started.abort(new Error('The exchange has ended'))
      },
      onResponseStart(_, status, headers) {
        if (status < 200) return
        clearTimeout(firstByte)
        resolve({
          status,
          headers,
          content,
          received: received.promise,
          [Symbol.asyncDispose]: async () => void content.destroy(),
        })
      },
      onResponseData(_, chunk) {
        bytes += chunk.length
        if (bytes > answerBytesMax) return fail(unanswered('The provider sent more than an answer may have.'))
        if (!content.push(chunk)) pause()
      },
      onResponseEnd() {
        controller = null
        for (const timer of [whole, unread]) clearTimeout(timer)
        received.resolve()
        content.push(null)
      },
      onResponseError: (_, error) =>
        fail(bodyError ? bodyError.cause : failureOf(error, controller !== null)),
    },
  )
  return promise
}

function isStream(body: Exchange['body']): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body
}

async function* noting(
  body: AsyncIterable<Uint8Array>,
  note: (cause: unknown) => void,
): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch (cause) {
    note(cause)
    throw cause
  }
}

const MESSAGES = {
  timeout: 'The provider took too long.',
  dns_failed: 'The name of the provider does not resolve.',
  connection_refused: 'The provider refused the connection.',
  connection_reset: 'The provider closed the connection.',
  connection_failed: 'There is no connection to the provider.',
  tls_failed: 'There is no secure connection to the provider.',
  server_not_allowed: 'This service may not connect to the provider.',
  invalid_answer: 'The provider sent what is not HTTP.',
}

function failureOf(error: unknown, isSent: boolean): ProviderFailure {
  if (error instanceof ProviderFailure) return error
  const reason = httpErrorOf(error)
  const options = { cause: error, isBeforeAcceptance: !isSent }
  if (error instanceof EgressRefused) return new ProviderFailure('not_allowed', MESSAGES[reason], options)
  const Failure = reason === 'connection_reset' ? ConnectionReset : ProviderFailure
  return new Failure('unavailable', MESSAGES[reason], options)
}
