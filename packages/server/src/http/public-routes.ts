import type { IncomingMessage, ServerResponse } from 'node:http'
import { describeOutage } from '../database/outage.ts'
import { overloadRetrySeconds } from '../door/overload.ts'
import { PUBLIC_PAGE_POLICY } from '../pages/public-page.ts'
import type { PublicAnswer, PublicForm, PublicRequest, PublicRoute } from '../pages/public-route.ts'
import type { Logger } from '../kit/log.ts'
import type { Count, SureWindows } from '../limits/windows.ts'
import type { AnswerHeaders } from './answer.ts'
import type { Client } from './client-address.ts'
import { outagePage } from './outage-page.ts'
import { declaresTooMuch, readBytes } from './read-body.ts'

/** Unknown tokens of one client in a minute, in links and in pages each. */
const UNKNOWN_MAX = 20
/** Requests for pages of one client in a minute. */
const PAGES_MAX = 300
/** Windows that one process counts at once: five of each client. */
export const PUBLIC_WINDOWS_MAX = 500_000
const USER_AGENT_LENGTH_MAX = 512

/** A request for a public route, with its sockets. */
export interface PublicExchange {
  request: Request
  requestId: string
  client: Client
  /** The segment of the path that holds the token. */
  segment: string
  headers: AnswerHeaders
  incoming: IncomingMessage
  outgoing: ServerResponse
}

export type ServePublic = (exchange: PublicExchange) => Promise<Response>

/** For a page without a form or a script. A page that has them answers with a policy of its own. */
const PUBLIC_HEADERS: AnswerHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': PUBLIC_PAGE_POLICY,
  'x-robots-tag': 'noindex, nofollow',
}
const PLAIN: AnswerHeaders = { 'content-type': 'text/plain; charset=utf-8' }

/** Makes what serves public routes. The windows are of one minute. */
export function createPublicRoutes({
  windows,
  log,
}: {
  windows: SureWindows
  log: Logger
}): (route: PublicRoute) => ServePublic {
  const limits = clientLimits(windows)
  return route => {
    const { suffix } = partsOf(route.path)
    const methods = route.form === null ? ['GET', 'HEAD'] : ['GET', 'HEAD', 'POST']
    return async exchange => {
      const { request, segment, headers } = exchange
      const method = methods.find((one): one is PublicRequest['method'] => one === request.method)
      if (!method)
        return answerPlain({ ...headers, allow: methods.join(', ') }, 405, 'The link takes no such request.')
      if (!segment.endsWith(suffix)) return limits.refuseUnknown(exchange, route)
      const refusal = route.isLink ? null : await limits.refusePage(exchange)
      if (refusal) return refusal
      if (method === 'POST' && route.form && !mayPost(request.headers, route.form))
        return answerPlain(headers, 403, 'This form can be sent only from its own page. Open the link again.')
      const token = segment.slice(0, segment.length - suffix.length)
      if (route.isPossible?.(token) === false) return limits.refuseUnknown(exchange, route)
      const form =
        method === 'POST' && route.form ? await readForm(exchange, route.form) : new URLSearchParams()
      if (form === null) return answerPlain(headers, 413, 'The form is too large.')
      try {
        const answer = await route.serve({ ...readRequest(exchange), method, token, form })
        return answer ? answerPublic(headers, answer) : await limits.refuseUnknown(exchange, route)
      } catch (error) {
        const outage = describeOutage(error)
        if (outage === null) throw error
        log.warn(
          { requestId: exchange.requestId, route: route.path, error },
          `A page was not shown. ${outage}`,
        )
        return answerPublic(headers, outageAnswer())
      }
    }
  }
}

/**
 * Counts what clients may do in a minute: links and pages count unknown tokens apart, so that broken links of a message
 * lock nobody out of a page. All pages count their requests together.
 */
function clientLimits(windows: SureWindows) {
  const unknownOf = ({ client }: PublicExchange, { isLink }: Pick<PublicRoute, 'isLink'>) => ({
    name: `${isLink ? 'unknown-link' : 'unknown-page'}:${client.group}`,
    limit: UNKNOWN_MAX,
  })

  function refuseTooMany({ headers }: PublicExchange, { resetSeconds }: Count, text: string): Response {
    return answerPlain({ ...headers, 'retry-after': String(resetSeconds) }, 429, text)
  }

  return {
    /** Answers a request with an unknown token. */
    async refuseUnknown(exchange: PublicExchange, route: PublicRoute): Promise<Response> {
      const { headers } = exchange
      const count = await windows.count([unknownOf(exchange, route)])
      if (!count.isAccepted)
        return refuseTooMany(exchange, count, 'Too many links that do not exist. Try again later.')
      return route.unknown
        ? answerPublic(headers, route.unknown)
        : answerPlain(headers, 404, 'This link does not exist, or it does not work any more.')
    },
    /** Counts a request for a page. Answers one that is too many, or returns null. */
    async refusePage(exchange: PublicExchange): Promise<Response | null> {
      const count = await windows.count([
        { name: `pages:${exchange.client.group}`, limit: PAGES_MAX },
        { ...unknownOf(exchange, { isLink: false }), isOnlyChecked: true },
      ])
      return count.isAccepted
        ? null
        : refuseTooMany(exchange, count, 'Too many requests. Try again in a minute.')
    },
  }
}

function readRequest({ request, requestId, client }: PublicExchange) {
  const { headers } = request
  return {
    requestId,
    query: new URL(request.url).searchParams,
    cookie: (name: string) => readCookie(headers.get('cookie') ?? '', name),
    userAgent: headers.get('user-agent')?.slice(0, USER_AGENT_LENGTH_MAX) ?? null,
    purpose: headers.get('sec-purpose') ?? headers.get('purpose'),
    client,
  }
}

/** The parts of a path around its one parameter, which is in the last segment. */
export function partsOf(path: string): { prefix: string; suffix: string } {
  const [, prefix, suffix] = /^(\/(?:[^{}]*\/)?)\{\w+\}([^{}/]*)$/.exec(path) ?? []
  if (prefix === undefined || suffix === undefined)
    throw new Error(`${path} is not the path of a public route`)
  return { prefix, suffix }
}

/**
 * Whether a form comes from the pages that may post it. Browsers send `Origin` with every POST, and newer ones
 * `Sec-Fetch-Site` too; what sends no `Origin` is refused.
 */
function mayPost(headers: Headers, { origin }: PublicForm): boolean {
  if (origin === null) return true
  return (
    headers.get('origin') === origin() && (headers.get('sec-fetch-site') ?? 'same-origin') === 'same-origin'
  )
}

/** The first cookie of this name (RFC 6265 section 5.4), as it was set. */
function readCookie(header: string, name: string): string | null {
  const pair = header.split(/; */).find(one => one.startsWith(`${name}=`))
  return pair?.slice(name.length + 1) ?? null
}

/** Answers 503 also if it is not known whether a form was saved: every form may be sent again. */
function outageAnswer(): PublicAnswer {
  return { status: 503, headers: { 'retry-after': String(overloadRetrySeconds()) }, body: outagePage() }
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

/** Null if the body is too large. A body that is no form, or ends early, has no fields. */
async function readForm(
  { request, incoming, outgoing }: PublicExchange,
  { bytesMax }: PublicForm,
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
