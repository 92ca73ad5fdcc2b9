/**
 * The vocabulary of signing in to a provider by OAuth 2.0 (RFC 6749) with PKCE (RFC 7636) and OpenID Connect. Every
 * method that calls the provider throws only `ProviderFailure`; the reasons that users see are in
 * `calls/provider-failure.ts`, under `grant`.
 */
import type { Secret } from '../kit/secret.ts'

export type OAuthProvider = 'google' | 'microsoft'

/** The OAuth app that a user signs in with, as it is registered at the provider. */
export interface SignInClient {
  clientId: string
  clientSecret: Secret
}

/** The kinds of data besides mail that an account may give access to. */
export interface Halves {
  calendar: boolean
  contacts: boolean
}

export interface AuthorizeRequest {
  clientId: string
  redirectUri: string
  scopes: readonly string[]
  state: string
  nonce: string
  /** The SHA-256 of the code verifier, in base64url. */
  codeChallenge: string
  /** The address to sign in with, if it is known. */
  loginHint: string | null
}

export interface CodeExchange {
  client: SignInClient
  redirectUri: string
  code: string
  codeVerifier: string
  nonce: string
  /** The requested scopes. */
  scopes: readonly string[]
}

/** Result of a refresh. */
export interface Tokens {
  accessToken: Secret
  expiresInSeconds: number
  /** The refresh token to use from now on; null if it has not changed. */
  refreshToken: Secret | null
}

/** The mailbox that a user signed in to. */
export interface Identity {
  /**
   * The provider's lasting id of the user, with the name of the provider in front: `google:1074…`. Null if the grant
   * does not include it.
   */
  subject: string | null
  email: string
  displayName: string | null
}

/** The right to use a mailbox, as its user has just granted it. */
export interface Grant extends Tokens {
  refreshToken: Secret
  /** The scopes that were granted. Mail is always among them. */
  scopes: readonly string[]
  halves: Halves
  identity: Identity
}

export interface SignIn {
  provider: OAuthProvider
  /** Must be the `iss` of an authorization answer that carries one (RFC 9207). */
  issuer: string
  /** The scopes to request: the app's own or the default ones, and the scopes that identify the user. */
  scopesFor(scopesOfApp: readonly string[] | null, halves: Halves): string[]
  /** Whether mail can be read with these scopes. */
  readsMail(scopes: readonly string[]): boolean
  /** Whether these scopes give access to calendars and to contacts. */
  halvesOf(scopes: readonly string[]): Halves
  /** The URL to which the browser is sent. */
  authorizeUrl(request: AuthorizeRequest): string
  /** Redeems a code, checks the ID token, and finds the mailbox by one call with the new access token. */
  exchange(exchange: CodeExchange, signal: AbortSignal): Promise<Grant>
  /** Like `exchange`, for a refresh token that another program has obtained with the same OAuth app. */
  adopt(
    client: SignInClient,
    refreshToken: Secret,
    scopesOfApp: readonly string[] | null,
    signal: AbortSignal,
  ): Promise<Grant>
  refresh(client: SignInClient, refreshToken: Secret, signal: AbortSignal): Promise<Tokens>
  /**
   * Ends a grant at the provider, with everything else that the user granted to the app. A token that is no longer
   * known there is no failure. Does nothing if the provider has no revocation.
   */
  revoke(refreshToken: Secret, signal: AbortSignal): Promise<void>
}

/** The providers that users can sign in to here. */
export type SignIns = Readonly<Partial<Record<OAuthProvider, SignIn>>>
