import type { Answered } from './call.ts'
import { isReason, type Outcome, WaxwingError } from './errors.ts'
import type { AnyOptions } from './options.ts'
import { readAnswer } from './read-answer.ts'
import type { Request } from './request.ts'
import { failureOf, pause, randomKey, underSignal } from './waits.ts'

/** Statuses after which nothing was done, whatever the method. */
const REFUSED_FOR_NOW = new Set([429, 503])
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
  const key = request.takesKey ? (options.idempotencyKey ?? randomKey()) : undefined
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
        if (!isRepeatable(request, error) || retries === sender.retries) throw withOutcome(error, outcome)
        await pause(pauseMs(error, retries++), options.signal)
      }
    }
  }
}

/** Whether the same request may be sent again. A request with a key may, since the service does it once. */
function isRepeatable(request: Request, error: WaxwingError): boolean {
  if ((error.retryAfterSeconds ?? 0) > RETRY_AFTER_SECONDS_MAX || error.code === 'redirected') return false
  const { status = 0 } = error
  if (REFUSED_FOR_NOW.has(status)) return request.method === 'GET' || !isHosted(request)
  if (request.method === 'GET' || request.takesKey) return status === 0 || status >= 500 || isCut(error)
  return error.outcome === 'not_applied' && status === 0 && !isHosted(request)
}

/** A POST of a page that users see: who repeats it, does it twice. */
function isHosted({ method, takesKey }: Request): boolean {
  return method === 'POST' && !takesKey
}

function isCut({ code }: WaxwingError): boolean {
  return code === 'unreadable_answer' || code === 'incomplete'
}

/** The outcome of a write after all its tries. After a try without an answer, only a refusal of the write itself tells it. */
function outcomeOf({ method }: Request, { status = 0, outcome }: WaxwingError, isUnclear: boolean): Outcome {
  if (method === 'GET') return 'not_applied'
  const isSettled = status >= 400 && status < 500 && ![401, 403, 408, 429].includes(status)
  return isSettled || !isUnclear ? outcome : 'unknown'
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
  const bearer = await sender.key()
  const sent = new Headers({ ...sender.headers, ...headers })
  if (bearer !== undefined) sent.set('authorization', `Bearer ${bearer}`)
  if (request.body !== undefined) sent.set('content-type', 'application/json')
  if (idempotencyKey !== undefined) sent.set('idempotency-key', idempotencyKey)
  if (ifMatch !== undefined) sent.set('if-match', ifMatch)
  const { method, url, body } = request
  const limited = underSignal(signal, timeoutMs + request.waitMs)
  try {
    const response = await sender.fetch(url, {
      method,
      headers: sent,
      redirect: 'manual',
      signal: limited.signal,
      ...(body === undefined ? {} : { body }),
    })
    return await readAnswer(response, request)
  } catch (error) {
    if (error instanceof WaxwingError) throw error
    signal?.throwIfAborted()
    throw failureOf(error, limited.isOver)
  } finally {
    // A download may take as long as it takes, until the caller gives up.
    limited.end(request.isDownload)
  }
}
