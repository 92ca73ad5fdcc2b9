import { randomUUID } from 'node:crypto'

/** An error of the sign-in, whose number its description names as `AADSTS…`. */
export interface SignInError {
  readonly code: number
  /** Error code of RFC 6749, such as `invalid_grant`. */
  readonly error: string
  readonly message: string
  /** HTTP status; by default 400. */
  readonly status?: number
  /** A hint for the client, such as `consent_required`. */
  readonly suberror?: string
  /** Claims to ask for in the next sign-in, as JSON. */
  readonly claims?: string
}

export const signInError = (
  code: number,
  error: string,
  message: string,
  more: Pick<SignInError, 'status' | 'suberror' | 'claims'> = {},
): SignInError => ({ code, error, message, ...more })

/** The description of an error with the ids that support asks for. */
export function describe({ code, message }: SignInError, now: number): string {
  return `AADSTS${code}: ${message} Trace ID: ${randomUUID()} Correlation ID: ${randomUUID()} Timestamp: ${timestampOf(now)}`
}

/** The answer of the token endpoint to a request that it refuses. `now` is the sandbox's time. */
export function errorResponse(error: SignInError, loginHost: string, now: number): Response {
  const [traceId, correlationId] = [randomUUID(), randomUUID()]
  const timestamp = timestampOf(now)
  return Response.json(
    {
      error: error.error,
      error_description: `AADSTS${error.code}: ${error.message} Trace ID: ${traceId} Correlation ID: ${correlationId} Timestamp: ${timestamp}`,
      error_codes: [error.code],
      timestamp,
      trace_id: traceId,
      correlation_id: correlationId,
      error_uri: `https://${loginHost}/error?code=${error.code}`,
      ...(error.suberror !== undefined && { suberror: error.suberror }),
      ...(error.claims !== undefined && { claims: error.claims }),
    },
    { status: error.status ?? (error.error === 'invalid_client' ? 401 : 400), headers: NO_STORE },
  )
}

export const NO_STORE = { 'cache-control': 'no-store, no-cache', pragma: 'no-cache' }

const timestampOf = (now: number) => `${new Date(now).toISOString().slice(0, 19).replace('T', ' ')}Z`

/** Errors that a token request can be made to get, as conditional access, revocation or an administrator cause them. */
const CAUSED: Readonly<Record<number, readonly [error: string, message: string, suberror?: string]>> = {
  50076: [
    'invalid_grant',
    "Due to a configuration change made by your administrator, or because you moved to a new location, you must use multi-factor authentication to access '00000003-0000-0000-c000-000000000000'.",
    'basic_action',
  ],
  50079: [
    'invalid_grant',
    "Due to a configuration change made by your administrator, or because you moved to a new location, you must enroll in multi-factor authentication to access '00000003-0000-0000-c000-000000000000'.",
    'basic_action',
  ],
  50173: [
    'invalid_grant',
    'The provided grant has expired due to it being revoked, a fresh auth token is needed. The user might have changed or reset their password.',
    'bad_token',
  ],
  53003: [
    'invalid_grant',
    'Access has been blocked by Conditional Access policies. The access policy does not allow token issuance.',
    'message_only',
  ],
  65001: [
    'invalid_grant',
    'The user or administrator has not consented to use the application. Send an interactive authorization request for this user and resource.',
    'consent_required',
  ],
  70008: [
    'invalid_grant',
    'The provided authorization code or refresh token has expired due to inactivity. Send a new interactive authorization request for this user and resource.',
  ],
  90033: ['temporarily_unavailable', 'A transient error has occurred. Please try again.'],
  700016: ['unauthorized_client', 'The application was not found in the directory.'],
  700082: ['invalid_grant', 'The refresh token has expired due to inactivity.', 'bad_token'],
  7000112: ['unauthorized_client', 'The application is disabled.'],
  7000215: [
    'invalid_client',
    'Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID, for a secret added to the app.',
  ],
  7000222: ['invalid_client', 'The provided client secret keys for the app are expired.'],
}

export const CAUSED_CODES: readonly number[] = Object.keys(CAUSED).map(Number)

/** Codes whose answer carries claims for the next sign-in. */
const WITH_CLAIMS: ReadonlySet<number> = new Set([50_076, 50_079])

export function causedError(code: number): SignInError | null {
  const found = CAUSED[code]
  if (!found) return null
  const [error, message, suberror] = found
  return signInError(code, error, message, {
    ...(error === 'temporarily_unavailable' && { status: 503 }),
    ...(suberror !== undefined && { suberror }),
    ...(WITH_CLAIMS.has(code) && {
      claims: '{"access_token":{"polids":{"essential":true,"values":["mfa"]}}}',
    }),
  })
}
