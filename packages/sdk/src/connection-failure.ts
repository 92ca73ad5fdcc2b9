import { errorOf, type WaxwingError } from './errors.ts'

/** Codes with which Node.js and Bun say that a connection was never made. */
const NEVER_CONNECTED = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
  'ConnectionRefused',
  'FailedToOpenSocket',
])

/** The error of a request that had no answer. */
export function failureOf(error: unknown, isTimeout: boolean): WaxwingError {
  if (isTimeout) {
    return errorOf({ code: 'timeout', message: 'No answer came in time.', outcome: 'unknown', cause: error })
  }
  const [reason = error] = causes(error).slice(-1)
  const why = reason instanceof Error && reason.message !== '' ? reason.message : codeOf(reason)
  return errorOf({
    code: 'no_connection',
    // Some runtimes end their sentence.
    message: `The service cannot be reached: ${why.replace(/\.$/, '') || 'the connection failed'}.`,
    outcome: causes(error).some(isNeverConnected) ? 'not_applied' : 'unknown',
    cause: error,
  })
}

function causes(error: unknown): unknown[] {
  const found: unknown[] = []
  for (let at = error; at !== undefined && at !== null && found.length < 5;) {
    found.push(at)
    at = at instanceof Error ? at.cause : undefined
  }
  return found
}

function codeOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : ''
  return typeof code === 'string' ? code : ''
}

/** Deno says it in words. A browser does not say it at all. */
function isNeverConnected(error: unknown): boolean {
  const code = codeOf(error)
  if (NEVER_CONNECTED.has(code)) return true
  // These end connections that were there, too.
  if (code === 'EHOSTUNREACH' || code === 'ENETUNREACH')
    return error instanceof Error && 'syscall' in error && error.syscall === 'connect'
  return error instanceof Error && error.message.includes('client error (Connect)')
}
