import { authenticate, refuseScopes, type Caller } from '../../google/authenticate.ts'
import type { Call } from '../../world/calls.ts'
import type { Mailbox } from '../mailbox/mailbox.ts'
import type { GmailState } from '../state.ts'
import { selectFields } from './fields.ts'
import { decodeSegment, findMethod, type Match } from './methods.ts'
import type { GmailMethod } from './method.ts'
import { failedPrecondition, forbidden, invalidArgument, notFound, Refusal } from './refusal.ts'
import type { Shape } from './shapes.ts'

/** Parameters that every method takes. */
const STANDARD_QUERY = new Set(
  'alt fields key access_token oauth_token prettyPrint quotaUser callback uploadType upload_protocol upload_id $.xgafv'.split(
    ' ',
  ),
)

/** What was uploaded with a call, if anything: a message, and its metadata. */
export interface Upload {
  media: Buffer
  metadata: Record<string, unknown>
}

export interface Admitted extends Match {
  caller: Caller
  mailbox: Mailbox
  url: URL
}

/** Answers a call of a method. */
export async function serveMethod(state: GmailState, request: Request, call: Call): Promise<Response> {
  return answered(async () => {
    const admitted = admit(state, request, call, /^\/gmail\/v1\/users\/([^/]+)\/(.+)$/)
    if (admitted instanceof Response) return admitted
    const body = admitted.method.body ? await jsonIn(request) : {}
    return run(state, admitted, body, null)
  })
}

/** Turns what is thrown into Gmail's error. */
export async function answered(work: () => Promise<Response>): Promise<Response> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Refusal) return error.response()
    throw error
  }
}

/** Finds the method, the caller and the mailbox of a call, and charges its units. Or answers why not. */
export function admit(state: GmailState, request: Request, call: Call, pattern: RegExp): Admitted | Response {
  const caller = authenticate(state.ground.accounts, request, call)
  if (caller instanceof Response) return caller
  const url = new URL(request.url)
  const [, userId = '', path = ''] = pattern.exec(url.pathname) ?? []
  const match = findMethod(request.method, path)
  if (!match) throw notFound('Method not found.')
  const refused = refuseScopes(caller, call.host, match.method.scopes)
  if (refused) return refused
  requireKnownQuery(match.method, url.searchParams)
  const units = state.quota.unitsOf(match.method.id)
  state.quota.charge(caller.user.email, caller.client?.clientId ?? 'service-account', units)
  call.units = units
  return { ...match, caller, url, mailbox: requireMailbox(state, caller, decodeSegment(userId)) }
}

function requireMailbox(state: GmailState, caller: Caller, userId: string): Mailbox {
  const own = caller.user.email
  if (userId !== 'me' && userId.toLowerCase() !== own) throw forbidden(`Delegation denied for ${own}`)
  const mailbox = state.mailboxes.get(own)
  if (!mailbox) throw failedPrecondition('Mail service not enabled')
  return mailbox
}

function requireKnownQuery({ query = [] }: GmailMethod, given: URLSearchParams): void {
  for (const name of given.keys()) {
    if (STANDARD_QUERY.has(name) || query.includes(name)) continue
    throw invalidArgument(
      `Invalid JSON payload received. Unknown name "${name}": Cannot bind query parameter. Field '${name}' could not be found in request message.`,
    )
  }
}

/** Runs an admitted call. The body holds only fields that the method has. */
export async function run(
  state: GmailState,
  { method, params, caller, mailbox, url }: Admitted,
  body: Record<string, unknown>,
  media: Buffer | null,
): Promise<Response> {
  if (method.body) requireKnownFields(body, method.body, '')
  const query = url.searchParams
  const answer = await method.run({ state, mailbox, caller, params, query, body, media })
  if (!method.answer) return new Response(null, { status: 204 })
  const fields = query.get('fields')
  return json(fields ? selectFields(answer, fields, method.answer) : answer)
}

const json = (answer: unknown): Response =>
  new Response(JSON.stringify(answer), { headers: { 'content-type': 'application/json; charset=UTF-8' } })

/** The JSON object of a request; an empty body is an empty object. */
export async function jsonIn(request: Request): Promise<Record<string, unknown>> {
  const text = await request.text()
  return text === '' ? {} : objectOf(text)
}

/** Parses a JSON object. */
export function objectOf(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return value as Record<string, unknown>
  } catch {
    // It is refused below, like every body that is not an object.
  }
  throw invalidArgument('Invalid JSON payload received. Unexpected token.')
}

function requireKnownFields(body: unknown, shape: Shape, path: string): void {
  if (typeof body !== 'object' || body === null) return
  if (Array.isArray(body))
    return body.forEach((item, at) => requireKnownFields(item, shape, `${path}[${at}]`))
  for (const [name, value] of Object.entries(body)) {
    const below = Object.hasOwn(shape, name) ? shape[name] : undefined
    if (below === undefined)
      throw invalidArgument(
        `Invalid JSON payload received. Unknown name "${name}"${path && ` at '${path}'`}: Cannot find field.`,
      )
    if (below !== true) requireKnownFields(value, below, path ? `${path}.${name}` : name)
  }
}
