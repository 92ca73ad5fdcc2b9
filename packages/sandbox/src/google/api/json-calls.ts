import { invalidArgument, Refusal } from './refusal.ts'
import type { Shape } from './shape.ts'

/** Parameters that every method takes. */
const STANDARD_QUERY = new Set(
  'alt fields key access_token oauth_token prettyPrint quotaUser callback uploadType upload_protocol upload_id $.xgafv'.split(
    ' ',
  ),
)

/** Answers what is thrown as the error that it stands for. */
export async function answered(work: () => Promise<Response>): Promise<Response> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Refusal) return error.response()
    throw error
  }
}

/** An answer of JSON. */
export const json = (answer: unknown): Response =>
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

/** Refuses a body with a field that the shape lacks. */
export function requireKnownFields(body: unknown, shape: Shape, path: string): void {
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

/** Refuses parameters that a method does not take. */
export function requireKnownQuery(
  { query = [] }: { query?: readonly string[] },
  given: URLSearchParams,
): void {
  for (const name of given.keys()) {
    if (STANDARD_QUERY.has(name) || query.includes(name)) continue
    throw invalidArgument(
      `Invalid JSON payload received. Unknown name "${name}": Cannot bind query parameter. Field '${name}' could not be found in request message.`,
    )
  }
}
