import type { User } from '../world/users.ts'
import type { Accounts } from './accounts.ts'
import { isRedirectAllowed } from '../sign-in/redirect-uris.ts'
import type { Client } from './clients.ts'
import type { CodeMeaning } from './codes.ts'
import { EMAIL_SCOPE, isKnownScope, parseScopes, PROFILE_SCOPE, SIGN_IN_SCOPES } from './scopes.ts'

/** A request to the authorization endpoint that may be shown to a person. */
export interface Authorization {
  readonly client: Client
  readonly redirectUri: string
  readonly scopes: readonly string[]
  readonly state: string | null
  readonly nonce: string | null
  readonly challenge: CodeMeaning['challenge']
  readonly isOffline: boolean
  readonly prompts: ReadonlySet<string>
  readonly includesGranted: boolean
  readonly loginHint: string | null
}

/** The error of a wrong request: Google shows it on a page and sends nobody back. */
export interface Blocked {
  readonly status: number
  readonly error: string
  readonly message: string
}

const blocked = (status: number, error: string, message: string): Blocked => ({ status, error, message })
const missing = (name: string) => blocked(400, 'invalid_request', `Missing required parameter: ${name}`)

export function readAuthorization(accounts: Accounts, query: URLSearchParams): Authorization | Blocked {
  const repeated = [...query.keys()].find(name => query.getAll(name).length > 1)
  if (repeated !== undefined) {
    return blocked(400, 'invalid_request', `OAuth 2 parameters can only have a single value: ${repeated}`)
  }
  const clientId = query.get('client_id')
  if (!clientId) return missing('client_id')
  const client = accounts.clients.get(clientId)
  if (!client) return blocked(401, 'invalid_client', 'The OAuth client was not found.')
  const redirectUri = query.get('redirect_uri')
  if (!redirectUri) return missing('redirect_uri')
  if (!isRedirectAllowed(client, redirectUri)) {
    return blocked(
      400,
      'redirect_uri_mismatch',
      `The redirect URI in the request, ${redirectUri}, does not match the ones authorized for the OAuth client.`,
    )
  }
  const responseType = query.get('response_type')
  if (!responseType) return missing('response_type')
  if (responseType !== 'code') {
    return blocked(400, 'unsupported_response_type', `Invalid response_type: ${responseType}`)
  }
  return readWishes(client, redirectUri, query)
}

function readWishes(client: Client, redirectUri: string, query: URLSearchParams): Authorization | Blocked {
  const scopes = parseScopes(query.get('scope') ?? '')
  if (scopes.length === 0) return missing('scope')
  const unknown = scopes.filter(scope => !isKnownScope(scope))
  if (unknown.length > 0) {
    return blocked(
      400,
      'invalid_scope',
      `Some requested scopes were invalid. {invalid=[${unknown.join(', ')}]}`,
    )
  }
  const challenge = query.get('code_challenge')
  const method = query.get('code_challenge_method') ?? 'plain'
  if (challenge !== null && method !== 'S256' && method !== 'plain') {
    return blocked(400, 'invalid_request', `Invalid code_challenge_method: ${method}`)
  }
  return {
    client,
    redirectUri,
    scopes,
    state: query.get('state'),
    nonce: query.get('nonce'),
    challenge: challenge === null ? null : { method: method === 'S256' ? 'S256' : 'plain', value: challenge },
    isOffline: query.get('access_type') === 'offline',
    prompts: new Set((query.get('prompt') ?? '').split(' ').filter(prompt => prompt !== '')),
    includesGranted: query.get('include_granted_scopes') === 'true',
    loginHint: query.get('login_hint'),
  }
}

/** Whether the user must be asked, or has allowed all of it before. */
export function needsConsent(
  accounts: Accounts,
  { client, scopes, prompts }: Authorization,
  user: User,
): boolean {
  const allowed = accounts.grants.find(user, client)?.scopes
  return prompts.has('consent') || !allowed || scopes.some(scope => !allowed.has(scope))
}

/**
 * Lets the user allow these of the scopes that were asked for; those of sign-in are always among them. Returns the URL
 * to send the browser to.
 */
export function allow(
  accounts: Accounts,
  authorization: Authorization,
  user: User,
  chosen: readonly string[],
): string {
  const { client, redirectUri, nonce, challenge, isOffline, includesGranted } = authorization
  const before = accounts.grants.find(user, client)
  const wasAsked = needsConsent(accounts, authorization, user)
  const now = authorization.scopes.filter(scope => chosen.includes(scope) || SIGN_IN_SCOPES.includes(scope))
  if (now.length === 0) return deny(authorization)
  const scopes = includesGranted ? [...new Set([...now, ...(before?.scopes ?? [])])] : now
  const grant = accounts.grants.allow(user, client, scopes)
  // Without a consent page there is no new refresh token.
  const givesRefreshToken = isOffline && wasAsked
  const code = accounts.codes.issue({
    client,
    redirectUri,
    grant,
    scopes,
    nonce,
    challenge,
    givesRefreshToken,
  })
  return returnTo(authorization, {
    code,
    scope: [...shortNames(scopes), ...scopes].join(' '),
    authuser: '0',
    ...(user.organization !== null && { hd: user.organization }),
    prompt: wasAsked ? 'consent' : 'none',
  })
}

export function deny(authorization: Authorization, error = 'access_denied'): string {
  return returnTo(authorization, { error })
}

/** Google names the scopes of sign-in in both spellings. */
function shortNames(scopes: readonly string[]): string[] {
  return [scopes.includes(EMAIL_SCOPE) && 'email', scopes.includes(PROFILE_SCOPE) && 'profile'].filter(
    name => name !== false,
  )
}

function returnTo({ redirectUri, state }: Authorization, parameters: Record<string, string>): string {
  const url = new URL(redirectUri)
  if (state !== null) url.searchParams.set('state', state)
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}
