import { setTimeout as sleep } from 'node:timers/promises'
import { newId } from '../../../src/kit/ids.ts'
import type { Random } from '../../seeded.ts'
import type { ContactMark, EventMark, History, Mark, Outcome, RequestEntry, WindowCount } from '../history.ts'

/** An answer to one sending of a request; the status is null if there was none. */
export interface Reply {
  status: number | null
  outcome: Outcome
  body: Record<string, unknown>
}

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  path: string
  body?: unknown
  key?: string
  mark?: Mark
  contact?: ContactMark
  event?: EventMark
}

/** A client of the API that notes each request and its outcome. It asks any of the processes, as by a balancer. */
export interface ApiClient {
  readonly random: Random
  /** Sends it once. */
  send(request: ApiRequest): Promise<Reply>
  /**
   * Sends it until its outcome is certain, as a client should. Returns null if the run ends before. Of requests with a
   * key, some are sent twice at once before.
   */
  insist(request: ApiRequest): Promise<Reply | null>
}

export interface ApiClientOptions {
  actor: string
  addresses: () => string[]
  key: string
  history: History
  random: Random
  /** The share of requests with a key that are sent twice at once before. */
  doubledShare: number
  /** Ends `insist`. */
  signal: AbortSignal
}

/** A process that was stopped answers nothing. */
const ANSWER_SECONDS_MAX = 15
const AGAIN_MILLISECONDS = [100, 600] as const
/** The request did nothing, and may be sent again. */
const NOT_NOW = new Set([429, 503])

export function openApiClient(options: ApiClientOptions): ApiClient {
  const { actor, addresses, key, history, random, doubledShare, signal } = options
  async function send(request: ApiRequest): Promise<Reply> {
    const known = addresses()
    if (known.length === 0) return { status: null, outcome: 'refused', body: {} }
    const address = random.pick(known)
    const requestId = `${actor.replaceAll(' ', '-')}:${newId()}`
    const from = Date.now()
    const answered = await ask(address, key, requestId, request).catch(() => null)
    const entry = describe(request, answered)
    history.add({ type: 'request', from, at: Date.now(), actor, requestId, ...entry })
    return { status: entry.status, outcome: entry.outcome, body: answered?.body ?? {} }
  }
  return {
    random,
    send,
    async insist(request) {
      if (request.key !== undefined && random.chance(doubledShare))
        await Promise.all([send(request), send(request)])
      for (;;) {
        const reply = await send(request)
        const isBusy = reply.body['code'] === 'idempotency_key_in_progress'
        const isCertain = reply.outcome !== 'unknown' && !NOT_NOW.has(reply.status ?? 503) && !isBusy
        if (isCertain) return reply
        if (signal.aborted) return null
        await sleep(random.between(...AGAIN_MILLISECONDS))
      }
    },
  }
}

interface Answered {
  status: number
  body: Record<string, unknown>
  headers: Headers
}

async function ask(address: string, key: string, requestId: string, request: ApiRequest): Promise<Answered> {
  const { method, path, body, key: idempotencyKey } = request
  const answer = await fetch(address + path, {
    method,
    signal: AbortSignal.timeout(ANSWER_SECONDS_MAX * 1_000),
    headers: {
      authorization: `Bearer ${key}`,
      'x-request-id': requestId,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  // Everything that is asked here answers JSON, and an object or null.
  const parsed = JSON.parse(await answer.text()) as Record<string, unknown> | null
  return { status: answer.status, body: parsed ?? {}, headers: answer.headers }
}

type Described = Omit<RequestEntry, 'type' | 'from' | 'at' | 'actor' | 'requestId'>

function describe(
  { method, path, key, mark, contact, event }: ApiRequest,
  answered: Answered | null,
): Described {
  const { status = null, body = {}, headers } = answered ?? {}
  const { id, code } = body
  return {
    method,
    path,
    status,
    outcome: outcomeOf(status),
    code: typeof code === 'string' ? code : null,
    key: key ?? null,
    isReplay: headers?.has('idempotent-replayed') === true,
    madeId: status === 200 && typeof id === 'string' ? id : null,
    window: headers ? windowOf(headers) : null,
    mark: mark ?? null,
    contact: contact ?? null,
    event: event ?? null,
  }
}

function outcomeOf(status: number | null): Outcome {
  if (status === null || (status >= 500 && status !== 503)) return 'unknown'
  return status === 200 ? 'ok' : 'refused'
}

function windowOf(headers: Headers): WindowCount | null {
  const limit = headers.get('ratelimit-limit')
  if (limit === null) return null
  return {
    limit: Number(limit),
    remaining: Number(headers.get('ratelimit-remaining')),
    resetSeconds: Number(headers.get('ratelimit-reset')),
  }
}
