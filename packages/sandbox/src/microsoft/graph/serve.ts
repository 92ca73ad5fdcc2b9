import type { User } from '../../world/users.ts'
import { guid } from '../ids.ts'
import {
  accessDenied,
  badRequest,
  type ErrorIds,
  errorResponse,
  GraphRefusal,
  unknownSegment,
} from './errors.ts'
import type { Ability, GraphAnswer, GraphMethod, MailCaller, MethodCall } from './method.ts'
import { parseQuery } from './odata/query.ts'
import type { GraphParts } from './parts.ts'
import { preferencesApplied, preferencesOf } from './prefer.ts'
import { findMethod } from './methods.ts'
import { runThrottled } from './throttle.ts'

/** Bytes of a request's body. */
const BODY_BYTES_MAX = 4 * 1024 * 1024

/** A call whose token was checked, and whose path names a mailbox. */
export interface MailRequest {
  readonly request: Request
  /** The URL of the request at the real host, such as graph.microsoft.com. */
  readonly url: URL
  /** Below /v1.0/me/ or /v1.0/users/{id}/. */
  readonly path: string
  readonly caller: MailCaller
  /** Owner of the mailbox. */
  readonly owner: User
  readonly abilities: Readonly<Record<Ability, boolean>>
}

/** Answers a call of a method of mail. */
export async function serveMail(graph: GraphParts, mail: MailRequest): Promise<Response> {
  const ids = {
    at: graph.clock.now(),
    requestId: guid(graph.random),
    clientRequestId: mail.request.headers.get('client-request-id'),
  }
  const { throttle, settings } = graph.writing
  const place = { app: mail.caller.clientId, mailbox: mail.owner.email }
  try {
    return await runThrottled(throttle, settings, place, () => runMethod(graph, mail, ids))
  } catch (error) {
    if (!(error instanceof GraphRefusal)) throw error
    const response = errorResponse(error, ids)
    response.headers.set('request-id', ids.requestId)
    return response
  }
}

async function runMethod(graph: GraphParts, mail: MailRequest, ids: ErrorIds): Promise<Response> {
  const { method, params } = methodOf(mail)
  requireScope(mail, method)
  const bytes = Buffer.from(await mail.request.arrayBuffer())
  if (bytes.length > BODY_BYTES_MAX)
    throw new GraphRefusal(413, 'RequestEntityTooLarge', 'The request body is too large.')
  const prefer = preferencesOf(mail.request.headers)
  const call: MethodCall = {
    graph,
    mailbox: graph.mailboxOf(mail.owner),
    caller: mail.caller,
    owner: mail.owner,
    abilities: mail.abilities,
    params,
    url: mail.url,
    query: parseQuery(mail.url.searchParams, method.options ?? []),
    prefer,
    headers: mail.request.headers,
    bytes,
    json: () => objectIn(bytes),
  }
  return responseOf(await method.run(call), { ...preferencesApplied(prefer), 'request-id': ids.requestId })
}

function methodOf({ request, path, abilities }: MailRequest): {
  method: GraphMethod
  params: Record<string, string>
} {
  const found = findMethod(request.method, path)
  if (!found.match) {
    if (found.isKnownPath)
      throw new GraphRefusal(405, 'ErrorInvalidRequest', 'The OData request is not supported.', {
        allow: found.verbs.join(', '),
      })
    throw unknownSegment(found.segment)
  }
  const { needs, path: pattern } = found.match.method
  if (needs && !abilities[needs])
    throw unknownSegment(pattern.split('/').findLast(one => !one.startsWith('{')) ?? '')
  return found.match
}

function requireScope({ caller, owner }: MailRequest, { scopes }: GraphMethod): void {
  const isOwn = owner.id === caller.user.id
  const held = new Set(caller.scopes.map(scope => scope.toLowerCase()))
  const fits = (scope: string) => held.has(`${scope}.shared`) || (isOwn && held.has(scope))
  if (!scopes.some(scope => fits(scope.toLowerCase()))) throw accessDenied()
}

function responseOf(
  { status, json, bytes, contentType, headers }: GraphAnswer,
  more: Record<string, string>,
): Response {
  const type =
    contentType ??
    (json
      ? 'application/json;odata.metadata=minimal;odata.streaming=true;IEEE754Compatible=false;charset=utf-8'
      : null)
  const body = json ? JSON.stringify(json) : bytes ? new Uint8Array(bytes) : null
  return new Response(body, {
    status,
    headers: { ...(type && { 'content-type': type }), ...more, ...headers },
  })
}

function objectIn(bytes: Buffer): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>
  } catch {
    // It is refused below, like every body that is not an object.
  }
  throw badRequest(
    'Unable to read JSON request payload. Please ensure Content-Type header is set and payload is of valid JSON format.',
  )
}
