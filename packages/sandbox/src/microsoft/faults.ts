import { randomUUID } from 'node:crypto'
import type { Fault } from '../world/faults.ts'
import { cloudAtGraph } from './clouds.ts'
import { errorResponse, GraphRefusal } from './graph/errors.ts'
import { invalidToken } from './graph/authenticate.ts'
import { cloudsAtLogin } from './clouds.ts'
import { errorResponse as signInResponse, signInError, type SignInError } from './sign-in/errors.ts'

/** The answer of a fault that refuses a call, as the host words it. */
export function microsoftFault(fault: Fault, host: string): Response {
  const headers: Record<string, string> =
    fault.retryAfterSeconds === undefined ? {} : { 'retry-after': `${fault.retryAfterSeconds}` }
  if (cloudsAtLogin(host).length > 0) {
    const response = signInResponse(signInFault(fault), host, Date.now())
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
    return response
  }
  const ids = { at: Date.now(), requestId: randomUUID(), clientRequestId: null }
  return errorResponse(graphFault(fault, host, headers), ids)
}

function graphFault(fault: Fault, host: string, headers: Record<string, string>): GraphRefusal {
  const cloud = cloudAtGraph(host)
  switch (fault.does) {
    case 'unauthorized':
      return cloud
        ? invalidToken(cloud, 'Lifetime validation failed, the token is expired.')
        : new GraphRefusal(401, 'InvalidAuthenticationToken', 'The token is invalid.')
    case 'quota':
      return new GraphRefusal(403, 'ErrorQuotaExceeded', 'The mailbox is over its quota.', headers)
    case 'rate_limit':
      return new GraphRefusal(
        429,
        'ApplicationThrottled',
        'Application is over its MailboxConcurrency limit.',
        headers,
      )
    default:
      return new GraphRefusal(fault.status ?? 503, ...wordsOf(fault.status ?? 503), headers)
  }
}

const wordsOf = (status: number): [string, string] =>
  status === 503
    ? ['ServiceUnavailable', 'The service is temporarily unavailable.']
    : ['InternalServerError', 'An internal server error occurred. The operation failed.']

function signInFault(fault: Fault): SignInError {
  switch (fault.does) {
    case 'unauthorized':
      return signInError(7_000_215, 'invalid_client', 'Invalid client secret provided.')
    case 'quota':
    case 'rate_limit':
      return signInError(
        50_196,
        'temporarily_unavailable',
        'The server terminated an operation because it encountered a client request loop. Please contact your app vendor.',
        { status: fault.does === 'quota' ? 403 : 429 },
      )
    default:
      return signInError(
        90_033,
        'temporarily_unavailable',
        'A transient error has occurred. Please try again.',
        {
          status: fault.status ?? 503,
        },
      )
  }
}
