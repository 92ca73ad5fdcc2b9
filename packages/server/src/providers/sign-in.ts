/**
 * The vocabulary of signing in to a provider by OAuth 2.0 (RFC 6749) with PKCE (RFC 7636) and OpenID Connect. Every
 * method that calls the provider throws only `ProviderFailure`; the reasons that users see are in
 * `calls/provider-failure.ts`, under `grant`.
 */
import type { Secret } from '../kit/secret.ts'

export type OAuthProvider = 'google' | 'microsoft'

/** A separate installation of a provider, with hosts and users of its own. */
export type Cloud = 'global' | 'gcc-high' | 'dod' | 'china'

/** A place to sign in at. */
export interface SignInPlace {
  provider: OAuthProvider
  /** Null: the provider has one cloud only. */
  cloud: Cloud | null
}

/** The proof that an OAuth app is itself: a secret, or a certificate with its private key, both in PEM. */
export type ClientCredential =
  | { type: 'secret'; secret: Secret }
  | { type: 'certificate'; certificate: string; privateKey: Secret }

/** The OAuth app that a user signs in with, as it is registered at the provider. */
export interface SignInClient {
  clientId: string
  credential: ClientCredential
}

/** Access that a grant gives to data of one kind. `reads`: everything but changing it. */
export type HalfAccess = 'none' | 'reads' | 'writes'

/** The kinds of data besides mail, and what a grant allows with each. */
export interface Halves {
  calendar: HalfAccess
  contacts: HalfAccess
}

/** Permissions to ask a user for besides mail. */
export interface Asked {
  calendar: boolean
  contacts: boolean
  /** Mailboxes of others that the user may open. */
  shared: boolean
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

export interface ApprovalRequest {
  clientId: string
  redirectUri: string
  scopes: readonly string[]
  /** The domain of the user's address, by which the organization is known; null: that of the administrator. */
  domain: string | null
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
  /** The subject of the same mailbox as a shared one; absent if the provider has none. */
  sharedSubject?: string
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
  place: SignInPlace
  /**
   * Whether an authorization answer with this `iss` may come from here (RFC 9207). If the issuer depends on the user, a
   * document of the provider is read.
   */
  isIssuer(iss: string, signal: AbortSignal): Promise<boolean>
  /** The scopes to request: the app's own or the default ones, and the scopes that identify the user. */
  scopesFor(scopesOfApp: readonly string[] | null, asked: Asked): string[]
  /** Whether mail can be read with these scopes. */
  readsMail(scopes: readonly string[]): boolean
  /** Whether these scopes give access to mailboxes that others share with the user. */
  sharesMailboxes(scopes: readonly string[]): boolean
  /** Access that these scopes give to the user's own calendars and contacts. */
  halvesOf(scopes: readonly string[]): Halves
  /** The URL to which the browser is sent. */
  authorizeUrl(request: AuthorizeRequest): string
  /**
   * The URL where an administrator approves the app for all users of an organization.
   * @returns null if the provider has no such page
   */
  approvalUrl(request: ApprovalRequest): string | null
  /** Redeems a code, checks the ID token, and finds the mailbox by one call with the new access token. */
  exchange(exchange: CodeExchange, signal: AbortSignal): Promise<Grant>
  /**
   * Like `exchange`, for a refresh token that another program has obtained with the same OAuth app.
   * @param asked permissions to ask for besides mail; the grant shows which of them it has
   */
  adopt(
    client: SignInClient,
    refreshToken: Secret,
    scopesOfApp: readonly string[] | null,
    asked: Asked,
    signal: AbortSignal,
  ): Promise<Grant>
  /** @param scopes the granted scopes */
  refresh(
    client: SignInClient,
    refreshToken: Secret,
    scopes: readonly string[],
    signal: AbortSignal,
  ): Promise<Tokens>
  /**
   * Ends a grant at the provider, with everything else that the user granted to the app. A token that is no longer
   * known there is no failure. Does nothing if the provider has no revocation.
   */
  revoke(refreshToken: Secret, signal: AbortSignal): Promise<void>
}

/** The places where users can sign in. */
export interface SignIns {
  /** Null if there is no such place. */
  at(place: SignInPlace): SignIn | null
  /** Whether users are offered to sign in at the provider, in any cloud. Accounts that have signed in need no offer. */
  offers(provider: OAuthProvider): boolean
  all(): readonly SignIn[]
}

/** @param offered the providers that users are offered; by default all */
export function signInsOf(all: readonly SignIn[], offered?: readonly OAuthProvider[]): SignIns {
  return {
    at: ({ provider, cloud }) =>
      all.find(({ place }) => place.provider === provider && place.cloud === cloud) ?? null,
    offers: provider =>
      all.some(({ place }) => place.provider === provider) && offered?.includes(provider) !== false,
    all: () => all,
  }
}
