import type { AnswerHeaders } from './answer.ts'

const EXPOSED = [
  'ETag',
  // Without it, nothing in a page shows whether Content-Length counts compressed bytes.
  'Content-Encoding',
  'X-Request-Id',
  'Idempotent-Replayed',
  'Retry-After',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
].join(', ')
const ALLOWED_HEADERS = 'Authorization, Content-Type, Idempotency-Key, If-Match, Last-Event-ID, X-Request-Id'
const PREFLIGHT_SECONDS = '600'

export interface Cors {
  /** The headers of an answer to this origin; none if the origin is not allowed. */
  headersFor(origin: string | undefined): AnswerHeaders
  /** The headers that answer a preflight, or null if the request is not a preflight of an allowed origin. */
  preflight(request: Request, methods: readonly string[]): AnswerHeaders | null
}

/** Allows pages of these origins to call the API, with a bearer credential and never with cookies. */
export function corsFor(origins: readonly string[]): Cors {
  const allowed = new Set(origins)
  // A cache must not give one origin's answer to another origin or to a client without one.
  const varying: AnswerHeaders = allowed.size === 0 ? {} : { vary: 'Origin' }
  const headersForOrigin = (origin: string | undefined): AnswerHeaders =>
    origin !== undefined && allowed.has(origin)
      ? { ...varying, 'access-control-allow-origin': origin, 'access-control-expose-headers': EXPOSED }
      : varying
  return {
    headersFor: headersForOrigin,
    preflight(request, methods) {
      const origin = request.headers.get('origin')
      if (request.method !== 'OPTIONS' || !origin || !allowed.has(origin)) return null
      if (!request.headers.has('access-control-request-method')) return null
      return {
        ...headersForOrigin(origin),
        'access-control-allow-methods': methods.join(', '),
        'access-control-allow-headers': ALLOWED_HEADERS,
        'access-control-max-age': PREFLIGHT_SECONDS,
      }
    },
  }
}
