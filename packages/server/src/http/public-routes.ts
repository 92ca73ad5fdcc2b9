import type { IncomingMessage, ServerResponse } from 'node:http'
import type { PublicAnswer, PublicRequest, PublicRoute } from '../features/public-route.ts'
import type { Clock } from '../kit/clock.ts'
import { createMinuteCounts } from '../kit/minute-counts.ts'
import type { AnswerHeaders } from './answer.ts'
import type { Client } from './client-address.ts'
import { declaresTooMuch, readBytes } from './read-body.ts'

/** Unknown tokens of one client in a minute. */
const UNKNOWN_MAX = 20
const CLIENTS_MAX = 100_000
const USER_AGENT_LENGTH_MAX = 512

/** A request for a public route, with its sockets. */
export interface PublicExchange {
  request: Request
  client: Client
  /** The segment of the path that holds the token. */
  segment: string
  headers: AnswerHeaders
  incoming: IncomingMessage
  outgoing: ServerResponse
}

export type ServePublic = (exchange: PublicExchange) => Promise<Response>

/** Answers with pages may be styled and may have a form, and nothing else. */
const PUBLIC_HEADERS: AnswerHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-robots-tag': 'noindex, nofollow',
}
const PLAIN: AnswerHeaders = { 'content-type': 'text/plain; charset=utf-8' }

/** Makes what serves public routes. All of them count unknown tokens together. */
export function createPublicRoutes(clock: Clock): (route: PublicRoute) => ServePublic {
  const unknown = createMinuteCounts(clock, CLIENTS_MAX)

  function refuseUnknown({ client, headers }: PublicExchange): Response {
    unknown.add(client.group)
    if (unknown.get(client.group) <= UNKNOWN_MAX)
      return answerPlain(headers, 404, 'This link does not exist, or it does not work any more.')
    const retry = { 'retry-after': String(unknown.secondsLeft()) }
    return answerPlain({ ...headers, ...retry }, 429, 'Too many links that do not exist. Try again later.')
  }

  return route => {
    const { suffix } = partsOf(route.path)
    const methods = route.formBytesMax === null ? ['GET', 'HEAD'] : ['GET', 'HEAD', 'POST']
    return async exchange => {
      const { request, segment, headers } = exchange
      const method = methods.find((one): one is PublicRequest['method'] => one === request.method)
      if (!method)
        return answerPlain({ ...headers, allow: methods.join(', ') }, 405, 'The link takes no such request.')
      if (!segment.endsWith(suffix)) return refuseUnknown(exchange)
      const form =
        method === 'POST' ? await readForm(exchange, route.formBytesMax ?? 0) : new URLSearchParams()
      if (form === null) return answerPlain(headers, 413, 'The form is too large.')
      const answer = await route.serve({
        method,
        token: segment.slice(0, segment.length - suffix.length),
        query: new URL(request.url).searchParams,
        form,
        userAgent: request.headers.get('user-agent')?.slice(0, USER_AGENT_LENGTH_MAX) ?? null,
        purpose: request.headers.get('sec-purpose') ?? request.headers.get('purpose'),
        client: exchange.client,
      })
      return answer ? answerPublic(headers, answer) : refuseUnknown(exchange)
    }
  }
}

/** The parts of a path around its one parameter, which is in the last segment. */
export function partsOf(path: string): { prefix: string; suffix: string } {
  const [, prefix, suffix] = /^(\/(?:[^{}]*\/)?)\{\w+\}([^{}/]*)$/.exec(path) ?? []
  if (prefix === undefined || suffix === undefined)
    throw new Error(`${path} is not the path of a public route`)
  return { prefix, suffix }
}

/** The answer of a host that serves only links to everything else. */
export function answerNothing(headers: AnswerHeaders): Response {
  return answerPlain(headers, 404, 'There is nothing here.')
}

function answerPublic(headers: AnswerHeaders, answer: PublicAnswer): Response {
  return new Response(answer.body ?? null, {
    status: answer.status,
    headers: { ...headers, ...PUBLIC_HEADERS, ...answer.headers },
  })
}

function answerPlain(headers: AnswerHeaders, status: number, text: string): Response {
  return new Response(`${text}\n`, { status, headers: { ...headers, ...PUBLIC_HEADERS, ...PLAIN } })
}

/** Null if the body is too large. What is no form, or ends early, has no fields. */
async function readForm(
  { request, incoming, outgoing }: PublicExchange,
  bytesMax: number,
): Promise<URLSearchParams | null> {
  if (declaresTooMuch(request.headers, bytesMax)) return null
  if (request.headers.has('expect') && incoming.httpVersion !== '1.0') outgoing.writeContinue()
  const type = request.headers.get('content-type') ?? ''
  try {
    const bytes = await readBytes(incoming, bytesMax)
    if (bytes === null) return null
    const data = await new Response(bytes, { headers: { 'content-type': type } }).formData()
    const fields = new URLSearchParams()
    for (const [name, value] of data) if (typeof value === 'string') fields.append(name, value)
    return fields
  } catch {
    return new URLSearchParams()
  }
}
