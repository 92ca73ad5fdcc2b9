import type { ImapResponse } from 'imapflow/lib/handler/types.js'
import { connectionReason } from '../connection-reason.ts'
import { type FailureKind, ProviderFailure } from '../failure.ts'
import { serverText } from '../server-text.ts'
import { tlsReason } from '../tls-reason.ts'
import { responseText } from './values.ts'

/** Response codes of RFC 9051 section 7.1 and RFC 5530, for any command. */
const KIND_BY_CODE: Readonly<Record<string, FailureKind>> = {
  UNAVAILABLE: 'unavailable',
  INUSE: 'unavailable',
  SERVERBUG: 'unavailable',
  CORRUPTION: 'unavailable',
  EXPUNGEISSUED: 'conflict',
  LIMIT: 'throttled',
  THROTTLED: 'throttled',
  OVERQUOTA: 'rejected',
  TOOBIG: 'rejected',
  NONEXISTENT: 'not_found',
  TRYCREATE: 'not_found',
  NOPERM: 'forbidden',
  ALREADYEXISTS: 'conflict',
  CANNOT: 'rejected',
  BADCHARSET: 'unsupported',
  AUTHENTICATIONFAILED: 'login_failed',
  AUTHORIZATIONFAILED: 'login_failed',
  EXPIRED: 'login_failed',
  PRIVACYREQUIRED: 'not_allowed',
}

const THROTTLED =
  /too many|connection limit|maximum number of (?:simultaneous )?connections|rate.?limit|throttl|simultaneous connections/i
const TRANSIENT =
  /temporar|try again|try later|unavailable|internal (?:server )?error|overload|server (?:is )?busy|maintenance|timed? ?out|shutting down|not connected/i
const TAKEN = /already exists|mailbox exists|name (?:is )?(?:already )?(?:taken|in use)/i
const MISSING = /does(?:n't| not) exist|no such|unknown mailbox|not found|non-?existent/i

/** The properties of imapflow's errors that matter here. */
interface ImapError {
  code?: unknown
  message?: unknown
  reason?: unknown
  response?: unknown
  responseStatus?: unknown
  responseText?: unknown
  serverResponseCode?: unknown
  authenticationFailed?: unknown
  tlsFailed?: unknown
  throttleReset?: unknown
}

/** The failure for an error of imapflow or of the network; a `ProviderFailure` is returned unchanged. */
export function toFailure(error: unknown): ProviderFailure {
  if (error instanceof ProviderFailure) return error
  const imap: ImapError = typeof error === 'object' && error !== null ? error : {}
  if (imap.code === 'ETHROTTLE') {
    const retryAfterSeconds = Math.ceil(Number(imap.throttleReset) / 1000) || 60
    return new ProviderFailure('throttled', 'The server asks for a pause.', {
      cause: error,
      retryAfterSeconds,
    })
  }
  if (imap.tlsFailed === true || isTlsCode(imap.code)) return tlsFailure(imap, error)
  if (imap.authenticationFailed === true) return loginFailure(imap, error)
  if (imap.responseStatus === 'NO' || imap.responseStatus === 'BAD') return refusal(imap, error)
  return lostConnection(imap, error)
}

function tlsFailure(imap: ImapError, cause: unknown): ProviderFailure {
  if (/does not support STARTTLS/i.test(textOf(imap.message))) {
    return new ProviderFailure('unsupported', 'The server does not offer STARTTLS.', { cause })
  }
  return new ProviderFailure('unavailable', `No secure connection to the server: ${tlsReason(cause)}`, {
    cause,
  })
}

/** Only a plain refusal counts against the password; a possibly temporary one does not. */
function loginFailure(imap: ImapError, cause: unknown): ProviderFailure {
  const said = textOf(imap.responseText) || textOf(imap.response) || textOf(imap.reason)
  const text = said || textOf(imap.message)
  const byCode = KIND_BY_CODE[textOf(imap.serverResponseCode).toUpperCase()]
  const refused = (kind: FailureKind) =>
    new ProviderFailure(kind, describe('The server refused the login', said), { cause })
  if (byCode) return refused(byCode)
  if (THROTTLED.test(text)) return refused('throttled')
  if (TRANSIENT.test(text)) return refused('unavailable')
  if (/login is disabled|no matching authentication/i.test(text))
    return new ProviderFailure('unsupported', describe('The server offers no login by password', said), {
      cause,
    })
  const isRefusal = imap.responseStatus === 'NO' || imap.response !== undefined
  return refused(isRefusal ? 'login_failed' : 'unavailable')
}

function refusal(imap: ImapError, cause: unknown): ProviderFailure {
  const text = textOf(imap.responseText)
  const code = codeOf(imap)
  const kind =
    KIND_BY_CODE[code] ??
    (THROTTLED.test(text)
      ? 'throttled'
      : TRANSIENT.test(text)
        ? 'unavailable'
        : TAKEN.test(text)
          ? 'conflict'
          : MISSING.test(text)
            ? 'not_found'
            : 'rejected')
  // A login failure during a session is a problem of the server, not of the password.
  return new ProviderFailure(
    kind === 'login_failed' ? 'unavailable' : kind,
    describe('The server refused', text),
    { cause },
  )
}

function lostConnection(imap: ImapError, cause: unknown): ProviderFailure {
  const reason = textOf(imap.reason)
  const kind = THROTTLED.test(reason) ? 'throttled' : 'unavailable'
  const detail = serverText(reason) || connectionReason(cause)
  return new ProviderFailure(kind, `The connection to the server failed: ${detail}`, { cause })
}

function codeOf({ serverResponseCode, response }: ImapError): string {
  if (typeof serverResponseCode === 'string') return serverResponseCode.toUpperCase()
  const attributes =
    typeof response === 'object' && response !== null && 'attributes' in response ? response.attributes : null
  const first: unknown = Array.isArray(attributes) ? attributes[0] : null
  const section: unknown =
    typeof first === 'object' && first !== null && 'section' in first ? first.section : null
  const code: unknown = Array.isArray(section) ? section[0] : null
  return typeof code === 'object' && code !== null && 'value' in code ? textOf(code.value).toUpperCase() : ''
}

function isTlsCode(code: unknown): boolean {
  return (
    typeof code === 'string' &&
    /^(?:ERR_TLS|ERR_SSL|EPROTO|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|STARTTLS_|UPGRADE_)/.test(
      code,
    )
  )
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function describe(what: string, detail: string): string {
  const text = serverText(detail)
  return text ? `${what}: ${text}` : `${what}.`
}

/** Their callers request the messages that the answers left out, so a refusal of a part is no failure. */
const ANSWERED_IN_PART = new Set(['UID FETCH', 'UID STORE'])

/**
 * Throws unless a command was carried out. imapflow takes BYE for OK, and also a NO because some messages no longer
 * exist: but a COPY that is refused for that reason has copied none.
 */
export function requireDone(name: string, response: ImapResponse): void {
  const status = response.command?.toUpperCase()
  if (status === 'OK' || (status === 'NO' && ANSWERED_IN_PART.has(name))) return
  const text = responseText(response.attributes)
  if (status === 'NO') throw toFailure({ responseStatus: status, responseText: text, response })
  throw new ProviderFailure('unavailable', `The server ended the session: ${serverText(text)}`)
}
