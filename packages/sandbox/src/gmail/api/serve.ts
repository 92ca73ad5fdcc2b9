import type { Call } from '../../world/calls.ts'
import type { GmailParts } from '../parts.ts'
import { admit, type Admission, type Admitted } from './admission.ts'
import { selectFields } from './fields.ts'
import { invalidArgument, Refusal } from './refusal.ts'
import type { Shape } from './shapes.ts'

/** Answers a call of a method. */
export async function serveMethod(
  gmail: GmailParts,
  admission: Admission,
  request: Request,
  call: Call,
): Promise<Response> {
  return answered(async () => {
    const admitted = admit(admission, request, call, /^\/gmail\/v1\/users\/([^/]+)\/(.+)$/)
    if (admitted instanceof Response) return admitted
    const body = admitted.method.body ? await jsonIn(request) : {}
    return run(gmail, admitted, body, null)
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

/** Runs an admitted call. The body holds only fields that the method has. */
export async function run(
  gmail: GmailParts,
  { method, params, caller, mailbox, url }: Admitted,
  body: Record<string, unknown>,
  media: Buffer | null,
): Promise<Response> {
  if (method.body) requireKnownFields(body, method.body, '')
  const query = url.searchParams
  const answer = await method.run({ gmail, mailbox, caller, params, query, body, media })
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
