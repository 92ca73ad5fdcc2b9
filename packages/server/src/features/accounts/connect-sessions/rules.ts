import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { CONNECT_ERRORS, type ConnectError } from '@waxwing/contract/accounts/connect-sessions.ts'
import type { AccountSettingsOverride } from '@waxwing/contract/accounts/account-settings.ts'
import { reasons } from '@waxwing/contract/reasons.ts'
import { isRedirectUri } from '@waxwing/contract/accounts/settings.ts'

const SECRET_BYTES = 32
/** 32 bytes in base64url. */
const SECRET = /^[A-Za-z0-9_-]{43}$/

/** 256 random bits: the token of a link, the `state` of an attempt, the secret in a cookie. */
export function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url')
}

/** The only form in which such a secret is kept. Null if the text cannot be one. */
export function digestSecret(text: string): Buffer | null {
  return SECRET.test(text) ? createHash('sha256').update(text).digest() : null
}

/** The cookie of an attempt: the secret of the browser, and the token of the link, to which it returns. */
export function cookieOf(browser: string, token: string): string {
  return `${browser}.${token}`
}

export function readCookie(cookie: string): { browser: string; token: string } | null {
  const [browser = '', token = '', ...rest] = cookie.split('.')
  return SECRET.test(browser) && SECRET.test(token) && rest.length === 0 ? { browser, token } : null
}

/** The name of the cookie of an attempt. Each has its own, so that two tabs can sign in at the same time. */
export function cookieNameOf(state: string): string {
  return `waxwing_connect_${createHash('sha256').update(state).digest('hex').slice(0, 16)}`
}

/** Whether the browser that came back is the one that pressed Continue. */
export function isSameBrowser(browser: string, digest: Buffer): boolean {
  const given = digestSecret(browser)
  return given !== null && given.length === digest.length && timingSafeEqual(given, digest)
}

/**
 * The secrets that redeem the code of an attempt, derived from the secret of the browser: the database alone holds
 * nothing with which a stolen code could be redeemed.
 */
export function exchangeSecrets(
  browser: string,
  attemptId: string,
): { codeVerifier: string; codeChallenge: string; nonce: string } {
  const derive = (purpose: string) =>
    createHmac('sha256', browser).update(`${purpose}\0${attemptId}`).digest('base64url')
  const codeVerifier = derive('code_verifier')
  const codeChallenge = createHash('sha256').update(codeVerifier).digest('base64url')
  return { codeVerifier, codeChallenge, nonce: derive('nonce') }
}

/** The page of a link: `/connect/{token}`. */
export function pageUrl(baseUrl: string, token: string): string {
  return `${baseUrl}/connect/${token}`
}

/** Outcome of a flow, as the parameters of the return have it. */
export type Ending = { accountId: string } | { error: ConnectError }

/**
 * The URL to which the browser goes at the end: the redirect URI with the outcome added to its query, or, if there is
 * none or it is no longer allowed, the page of the link.
 */
export function returnUrl(
  session: { redirectUri: string | null; returnState: string | null },
  ending: Ending,
  { allowed, page }: { allowed: readonly string[]; page: string },
): string {
  const { redirectUri, returnState } = session
  if (redirectUri === null || !allowed.includes(redirectUri) || !isRedirectUri(redirectUri)) return page
  const added = new URLSearchParams(
    'error' in ending
      ? { status: 'error', error: ending.error }
      : { status: 'success', account_id: ending.accountId },
  )
  if (returnState !== null) added.set('state', returnState)
  const url = new URL(redirectUri)
  // Appended as text, so that the query which is there stays as it was written.
  url.search = url.search === '' ? `?${added}` : `${url.search}&${added}`
  return url.href
}

/** The code of the return for the reason of a refused step; null if it is no reason to show to a user. */
export function connectErrorOf(reason: string): ConnectError | null {
  return CONNECT_ERRORS.find(error => error === reason) ?? null
}

/** An error with which a provider's authorization endpoint answers (RFC 6749 section 4.1.2.1). */
export interface AuthorizationError {
  error: string
  description: string | null
}

/** The code for the error of an authorization endpoint. */
export function authorizationErrorOf(answer: AuthorizationError): ConnectError {
  return answer.error === 'access_denied' || needsApproval(answer) ? 'access_denied' : 'token_exchange_failed'
}

/**
 * Whether an administrator must approve the app before users can grant it anything. A user who refuses gets
 * `access_denied` as well, so the description tells them apart.
 */
export function needsApproval({ error, description }: AuthorizationError): boolean {
  return UNAPPROVED.has(error) || UNAPPROVED_CODES.test(description ?? '')
}

const UNAPPROVED = new Set(['consent_required', 'interaction_required'])
/** learn.microsoft.com/entra/identity-platform/reference-error-codes */
const UNAPPROVED_CODES = /AADSTS(?:65001|9009[345]|900941|900981)\b/

/** The HTTP status with which the audit log has the end of a flow. */
export function statusOf(ending: Ending): number {
  if (!('error' in ending)) return 200
  const { error } = ending
  return error === 'access_denied' || error === 'cancelled' ? 403 : reasons[error].status
}

/** The settings of a new account that IMAP can have: calendars and contacts would need DAV. */
export function settingsOfImap(settings: AccountSettingsOverride): AccountSettingsOverride {
  const { calendarEnabled, contactsEnabled, ...rest } = settings
  return {
    ...rest,
    ...(calendarEnabled === false && { calendarEnabled }),
    ...(contactsEnabled === false && { contactsEnabled }),
  }
}
