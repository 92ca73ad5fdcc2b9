import type { Answered } from './call.ts'
import { failureOf } from './connection-failure.ts'
import { errorOf, isReason, type Outcome, WaxwingError } from './errors.ts'
import type { AnyOptions } from './options.ts'
import { outcomeOf } from './outcome.ts'
import { readAnswer } from './read-answer.ts'
import type { Request } from './request.ts'
import { type Limited, pause, underSignal } from './waits.ts'

/** Beyond it, the program decides whether it waits. */
const RETRY_AFTER_SECONDS_MAX = 60
const BACKOFF_MS = { first: 500, most: 8000 }
/** How long the first request with a key may go on. */
const IN_PROGRESS = { everyMs: 1000, times: 60 }

/** The options of a client, as sending needs them. */
export interface Sender {
  fetch: typeof fetch
  headers: Record<string, string>
  timeoutMs: number
  retries: number
  key: () => Promise<string | undefined>
  /** Whether another key may come after one that was refused. */
  hasNextKey: boolean
}

/** Sends a request until it has an end, and tries again only where nothing can take effect twice. */
export async function send(
  sender: Sender,
  request: Request,
  options: AnyOptions,
): Promise<Answered<unknown>> {
  const key = request.takesKey ? (keyIn(options) ?? randomKey()) : undefined
  let isUnclear = false
  let retries = 0
  let inProgress = 0
  let hasNextKey = sender.hasNextKey
  for (;;) {
    try {
      return await tryOnce(sender, request, options, key)
    } catch (error) {
      if (!(error instanceof WaxwingError)) throw error
      const outcome = outcomeOf(request, error, isUnclear)
      isUnclear = outcome === 'unknown'
      if (error.status === 401 && hasNextKey) {
        hasNextKey = false
      } else if (isReason(error, 'idempotency_key_in_progress') && inProgress++ < IN_PROGRESS.times) {
        await pause(IN_PROGRESS.everyMs, options.signal)
      } else {
        if (!isRepeatable(request, error) || retries >= sender.retries) throw withOutcome(error, outcome)
        await pause(pauseMs(error, retries++), options.signal)
      }
    }
  }
}

/** The key that the program gave, in one of two ways. */
function keyIn({ idempotencyKey, headers }: AnyOptions): string | undefined {
  return idempotencyKey ?? new Headers(headers).get('idempotency-key') ?? undefined
}

/** Whether the same request may be sent again. A request with a key may, since the service does it once. */
function isRepeatable({ method, takesKey }: Request, error: WaxwingError): boolean {
  const { status = 0, code, isDefined, outcome, retryAfterSeconds = 0 } = error
  if (retryAfterSeconds > RETRY_AFTER_SECONDS_MAX || code === 'redirected' || code === 'no_key') return false
  const isCut = code === 'unreadable_answer' || code === 'incomplete'
  if (method === 'GET' || takesKey) return status === 0 || status === 429 || status >= 500 || isCut
  // A program that repeats a POST without a key does it twice.
  if (method === 'POST') return false
  // The 503 of a proxy may come after the service got the request.
  return status === 429 || (status === 503 && isDefined) || (status === 0 && outcome === 'not_applied')
}

function withOutcome(error: WaxwingError, outcome: Outcome): WaxwingError {
  return error.outcome === outcome ? error : Object.assign(error, { outcome })
}

/** Full jitter, so that clients that failed together do not come back together. */
function pauseMs({ retryAfterSeconds }: WaxwingError, retries: number): number {
  if (retryAfterSeconds !== undefined) return retryAfterSeconds * 1000
  return Math.random() * Math.min(BACKOFF_MS.most, BACKOFF_MS.first * 2 ** retries)
}

async function tryOnce(
  sender: Sender,
  request: Request,
  { signal, timeoutMs = sender.timeoutMs, headers, ifMatch }: AnyOptions,
  idempotencyKey: string | undefined,
): Promise<Answered<unknown>> {
  const { method, url, body } = request
  const limited = underSignal(signal, timeoutMs + request.waitMs)
  let isStreaming = false
  try {
    const sent = await headersOf(sender, headers, limited)
    if (body !== undefined) sent.set('content-type', 'application/json')
    if (idempotencyKey !== undefined) sent.set('idempotency-key', idempotencyKey)
    if (ifMatch !== undefined) sent.set('if-match', ifMatch)
    const response = await sender.fetch(url, {
      method,
      headers: sent,
      redirect: 'manual',
      signal: limited.signal,
      ...(body === undefined ? {} : { body }),
    })
    const answer = await readAnswer(response, request, { signal, end: limited.end })
    // A download may take as long as it takes, until the caller gives up.
    isStreaming = request.isDownload
    return answer
  } catch (error) {
    if (signal?.aborted) throw signal.reason
    throw error instanceof WaxwingError ? error : failureOf(error, limited.isOver)
  } finally {
    if (isStreaming) limited.stopTimer()
    else limited.end()
  }
}

/**
 * The headers of the client and of the call, with the key.
 * @throws WaxwingError with `no_key` if the function that has the key fails
 */
export async function headersOf(
  { headers, key }: Sender,
  more: Record<string, string> | undefined,
  limited: Limited,
): Promise<Headers> {
  const sent = new Headers(headers)
  for (const [name, value] of Object.entries(more ?? {})) sent.set(name, value)
  const bearer = await limited.race(key()).catch((cause: unknown) => {
    throw errorOf({ code: 'no_key', message: 'No key could be had.', outcome: 'not_applied', cause })
  })
  if (bearer !== undefined) sent.set('authorization', `Bearer ${bearer}`)
  return sent
}

/** A key of 128 random bits. Pages over plain http have `getRandomValues`, but no `randomUUID`. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, byte => byte.toString(16).padStart(2, '0')).join('')
}
