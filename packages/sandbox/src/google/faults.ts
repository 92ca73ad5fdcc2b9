import type { Fault } from '../world/faults.ts'
import { invalidToken } from './authenticate.ts'
import { apiError, oauthError } from './errors.ts'

const OAUTH_HOSTS: ReadonlySet<string> = new Set(['accounts.google.com', 'oauth2.googleapis.com'])

/** The answer of a fault that refuses a call, as the host words it. */
export function googleFault(fault: Fault, host: string): Response {
  const headers: Record<string, string> =
    fault.retryAfterSeconds === undefined ? {} : { 'retry-after': `${fault.retryAfterSeconds}` }
  if (OAUTH_HOSTS.has(host)) return withHeaders(oauthFault(fault), headers)
  switch (fault.does) {
    case 'unauthorized':
      return invalidToken(host)
    case 'quota':
      return apiError({
        code: 403,
        status: 'PERMISSION_DENIED',
        message: `Quota exceeded for quota metric 'Queries' and limit 'Queries per minute per user' of service '${host}' for consumer 'project_number:1'.`,
        domain: 'usageLimits',
        reason: 'rateLimitExceeded',
        headers,
      })
    case 'rate_limit':
      return apiError({
        code: 429,
        status: 'RESOURCE_EXHAUSTED',
        message: 'Too many concurrent requests for user.',
        domain: 'global',
        reason: 'rateLimitExceeded',
        headers,
      })
    default:
      return apiError({ ...serverError(fault.status ?? 503), headers })
  }
}

function serverError(code: number) {
  if (code === 412)
    return { code, status: 'FAILED_PRECONDITION', message: 'Precondition Failed', reason: 'conditionNotMet' }
  return code === 503
    ? {
        code,
        status: 'UNAVAILABLE',
        message: 'The service is currently unavailable.',
        reason: 'backendError',
      }
    : { code, status: 'INTERNAL', message: 'Internal error encountered.', reason: 'backendError' }
}

function oauthFault(fault: Fault): Response {
  if (fault.does === 'unauthorized') return oauthError(401, 'invalid_client', 'Unauthorized')
  if (fault.does === 'quota') return oauthError(403, 'rate_limit_exceeded', 'Rate Limit Exceeded')
  if (fault.does === 'rate_limit') return oauthError(429, 'rate_limit_exceeded', 'Rate Limit Exceeded')
  return oauthError(fault.status ?? 503, 'internal_failure', 'Backend Error')
}

function withHeaders(response: Response, headers: Record<string, string>): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}
