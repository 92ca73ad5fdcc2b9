/** An error as Google's APIs answer it (AIP-193, with the older `errors` beside). */
export interface ApiError {
  code: number
  /** Canonical code, such as `PERMISSION_DENIED`. */
  status: string
  message: string
  reason: string
  /** `global`, or `usageLimits` for quotas. */
  domain?: string
  /** Message in `errors`, if it is another one. */
  shortMessage?: string
  location?: string
  locationType?: string
  details?: readonly object[]
  headers?: Record<string, string>
}

export function apiError(error: ApiError): Response {
  const { code, status, message, reason, domain = 'global', shortMessage, location, locationType } = error
  const first = {
    message: shortMessage ?? message,
    domain,
    reason,
    ...(location && { location }),
    ...(locationType && { locationType }),
  }
  return Response.json(
    { error: { code, message, errors: [first], status, ...(error.details && { details: error.details }) } },
    { status: code, headers: { vary: 'Origin, X-Origin, Referer', ...error.headers } },
  )
}

/** Entry of `details` that names the reason for machines. */
export function errorInfo(reason: string, service: string): object {
  return {
    '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
    reason,
    domain: 'googleapis.com',
    metadata: { service },
  }
}

/** An error of the OAuth endpoints (RFC 6749 section 5.2). */
export function oauthError(code: number, error: string, description?: string): Response {
  return Response.json(
    { error, ...(description !== undefined && { error_description: description }) },
    { status: code, headers: { 'cache-control': 'no-store', pragma: 'no-cache' } },
  )
}
