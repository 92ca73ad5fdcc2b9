import { randomUUID } from 'node:crypto'
import { isRedirectAllowed } from '../../sign-in/redirect-uris.ts'
import type { User } from '../../world/users.ts'
import type { MicrosoftGround } from '../ground.ts'
import type { Client } from './clients.ts'
import type { CodeMeaning } from './codes.ts'
import { clientProblem, type Endpoint, notInDirectory } from './endpoint.ts'
import { describe, signInError, type SignInError } from './errors.ts'
import { clientInfo } from './id-token.ts'
import { permissionsFor, readAsked } from './permissions.ts'
import type { AskedScopes } from './scopes.ts'

export type ResponseMode = 'query' | 'fragment' | 'form_post'

/** A place to send the browser back to. */
export interface ReturnPlace {
  readonly redirectUri: string
  readonly state: string | null
  readonly mode: ResponseMode
}

/** A request to the authorization endpoint that may be shown to a person. */
export interface Authorization {
  readonly endpoint: Endpoint
  readonly client: Client
  readonly back: ReturnPlace
  readonly asked: AskedScopes
  readonly nonce: string | null
  readonly challenge: CodeMeaning['challenge']
  readonly prompt: string | null
  readonly loginHint: string | null
  readonly wantsClientInfo: boolean
}

/** A request that is wrong: shown on a page, or sent back where the redirect URI is known to be good. */
export interface WrongRequest {
  readonly problem: SignInError
  readonly back: ReturnPlace | null
}

/** Parameters that an answer carries back to the client. */
export interface Answer {
  readonly back: ReturnPlace
  readonly parameters: Readonly<Record<string, string>>
}

const PROMPTS: ReadonlySet<string> = new Set(['login', 'none', 'consent', 'select_account', 'create'])
const CHALLENGE = /^[A-Za-z0-9._~-]{43,128}$/

export function readAuthorization(
  ground: MicrosoftGround,
  endpoint: Endpoint,
  query: URLSearchParams,
): Authorization | WrongRequest {
  const shown = (problem: SignInError): WrongRequest => ({ problem, back: null })
  const clientId = query.get('client_id')
  if (!clientId) return shown(missingIn('client_id'))
  const client = ground.clients.find(endpoint.loginHost, clientId)
  if (!client) return shown(notInDirectory(clientId, endpoint.name))
  const redirectUri = query.get('redirect_uri')
  if (!redirectUri) return shown(missingIn('redirect_uri'))
  if (!isRedirectAllowed(client, redirectUri)) return shown(wrongRedirect(redirectUri, clientId))
  const problem = clientProblem(client, endpoint)
  if (problem) return shown(problem)

  const mode = query.get('response_mode') ?? 'query'
  if (mode !== 'query' && mode !== 'fragment' && mode !== 'form_post')
    return shown(
      signInError(70_002, 'invalid_request', `The value '${mode}' of 'response_mode' is not supported.`),
    )
  const back: ReturnPlace = { redirectUri, state: query.get('state'), mode }
  const sentBack = (wrong: SignInError): WrongRequest => ({ problem: wrong, back })
  const responseType = query.get('response_type')
  if (!responseType) return sentBack(missingIn('response_type'))
  if (responseType !== 'code')
    return sentBack(
      signInError(
        700_054,
        'unsupported_response_type',
        `response_type '${responseType}' is not enabled for the application.`,
      ),
    )
  const scope = query.get('scope')
  if (!scope) return sentBack(missingIn('scope'))
  const asked = readAsked(scope, client)
  if ('code' in asked) return sentBack(asked)
  const challenge = readChallenge(query)
  if (challenge && 'code' in challenge) return sentBack(challenge)
  const prompt = query.get('prompt')
  if (prompt !== null && !PROMPTS.has(prompt))
    return sentBack(signInError(90_023, 'invalid_request', `Unsupported 'prompt' value '${prompt}'.`))
  return {
    endpoint,
    client,
    back,
    asked,
    nonce: query.get('nonce'),
    challenge,
    prompt,
    loginHint: query.get('login_hint'),
    wantsClientInfo: query.get('client_info') === '1',
  }
}

function readChallenge(query: URLSearchParams): CodeMeaning['challenge'] | SignInError {
  const value = query.get('code_challenge')
  if (value === null) return null
  const method = query.get('code_challenge_method') ?? 'plain'
  if (method !== 'S256' && method !== 'plain')
    return signInError(9_002_325, 'invalid_request', `Unsupported 'code_challenge_method' value '${method}'.`)
  if (!CHALLENGE.test(value))
    return signInError(501_491, 'invalid_request', 'Invalid size of Code_Challenge parameter.')
  return { method, value }
}

const missingIn = (name: string) =>
  signInError(900_144, 'invalid_request', `The request body must contain the following parameter: '${name}'.`)

export const wrongRedirect = (redirectUri: string, clientId: string) =>
  signInError(
    50_011,
    'invalid_request',
    `The redirect URI '${redirectUri}' specified in the request does not match the redirect URIs configured for the application '${clientId}'. Make sure the redirect URI sent in the request matches one added to your application in the Azure portal.`,
  )

/** Lets the user allow what was asked for, or only these permissions of it. */
export function allow(
  ground: MicrosoftGround,
  { client, asked, back, nonce, challenge, wantsClientInfo }: Authorization,
  user: User,
  chosen: readonly string[] | null = null,
): Answer {
  const all = permissionsFor(user, client, asked)
  const permissions = chosen === null ? all : all.filter(permission => chosen.includes(permission))
  ground.grants.allow(user, client, permissions)
  const kept = chosen === null || asked.isDefault ? asked : { ...asked, permissions }
  const { redirectUri } = back
  const code = ground.codes.issue({ client, user, redirectUri, asked: kept, nonce, challenge })
  return {
    back,
    parameters: {
      code,
      ...(wantsClientInfo && { client_info: clientInfo(ground, user) }),
      session_state: randomUUID(),
    },
  }
}

/** Lets an administrator allow for all users of the tenant what was asked for. */
export function allowForAll(ground: MicrosoftGround, authorization: Authorization, user: User): Answer {
  const { client, asked } = authorization
  const permissions = permissionsFor(user, client, asked)
  ground.grants.allowForAll(ground.tenants.of(user), client, permissions, [])
  return allow(ground, authorization, user)
}

/** Sends an error back. `subcode` is `cancel` if the person chose it. */
export function refuse(
  { clock }: MicrosoftGround,
  { problem, back }: { problem: SignInError; back: ReturnPlace },
  subcode: 'cancel' | null = null,
): Answer {
  return {
    back,
    parameters: {
      error: problem.error,
      ...(subcode !== null && { error_subcode: subcode }),
      error_description: describe(problem, clock.now()),
    },
  }
}

/** The person declined, on the page of consent or instead of asking an administrator. */
export const DECLINED: SignInError = signInError(
  65_004,
  'access_denied',
  'User declined to consent to access the app.',
)

/** The person met a page that only an administrator passes, and went back. */
export const ADMINISTRATOR_NEEDED: SignInError = signInError(
  90_094,
  'access_denied',
  'The grant requires admin permission.',
)

/** The URL to which the browser goes with an answer. */
export function urlOf({ back: { redirectUri, state, mode }, parameters }: Answer): string {
  const url = new URL(redirectUri)
  const given = { ...parameters, ...(state !== null && { state }) }
  if (mode === 'fragment') url.hash = `${new URLSearchParams(given)}`
  else for (const [name, value] of Object.entries(given)) url.searchParams.set(name, value)
  return url.href
}
