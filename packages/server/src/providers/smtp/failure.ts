import { EgressRefused } from '../../kit/egress/guard.ts'
import { connectionReason } from '../connection-reason.ts'
import { ProviderFailure, restate } from '../failure.ts'
import type { Refusal } from '../sending.ts'
import { tlsReason } from '../tls-reason.ts'
import { NotSmtp, type Reply, statusOf, wordsOf } from './reply.ts'

/** The failure for an error of the network or of TLS; a `ProviderFailure` is returned unchanged. */
export function toFailure(error: unknown): ProviderFailure {
  if (error instanceof ProviderFailure) return error
  if (error instanceof NotSmtp)
    return new ProviderFailure('unavailable', 'The server sent something that is not SMTP.', { cause: error })
  if (error instanceof EgressRefused)
    return new ProviderFailure('not_allowed', error.message, { cause: error })
  return new ProviderFailure(
    'unavailable',
    `The connection to the server failed: ${connectionReason(error)}`,
    { cause: error },
  )
}

export function toTlsFailure(error: unknown): ProviderFailure {
  if (error instanceof ProviderFailure) return error
  return new ProviderFailure('unavailable', `No secure connection to the server: ${tlsReason(error)}`, {
    cause: error,
  })
}

/** The server certainly accepted nothing. */
export function beforeAcceptance(error: unknown): ProviderFailure {
  const failure = toFailure(error)
  return failure.isBeforeAcceptance ? failure : restate(failure, { isBeforeAcceptance: true })
}

/** The message was handed over, and no answer that can be understood came back. */
export function outcomeUnknown(error: unknown): ProviderFailure {
  return new ProviderFailure(
    'unavailable',
    `Whether it was accepted is unknown: ${toFailure(error).message}`,
    {
      cause: error,
      isBeforeAcceptance: false,
    },
  )
}

/** A reply that ends the session or the login: it concerns the account or its server. */
export function sessionFailure(what: string, reply: Reply): ProviderFailure {
  return new ProviderFailure(isThrottled(reply) ? 'throttled' : 'unavailable', `${what}: ${wordsOf(reply)}`, {
    isBeforeAcceptance: true,
  })
}

/**
 * The reply to AUTH. RFC 4954 section 6: 4yz is a problem of the server, 5yz one of the credentials. A server may
 * repeat the command, so its words are shown without the secrets.
 */
export function loginFailure(reply: Reply, secrets: readonly string[]): ProviderFailure {
  const text = secrets.reduce((words, secret) => words.replaceAll(secret, '…'), wordsOf(reply))
  const kind = reply.code >= 500 ? 'login_failed' : 'unavailable'
  return new ProviderFailure(kind, `The server refused the login: ${text}`, { isBeforeAcceptance: true })
}

/**
 * Whether a reply to MAIL is about the account or its server rather than the message: the session ends (421), the
 * account is slowed down (4.7.x), or a login is missing (RFC 4954 section 6).
 */
export function isAboutAccount(reply: Reply): boolean {
  return reply.code === 421 || reply.code === 530 || isThrottled(reply)
}

/** RFC 3463 section 3.8: a security or policy reason that passes. */
function isThrottled(reply: Reply): boolean {
  return statusOf(reply).startsWith('4.7.')
}

/**
 * Whether a reply to RCPT means that the message has too many recipients: RFC 3463 section 3.6, and the code of old
 * servers (RFC 5321 section 4.5.3.1.10).
 */
export function isOneTooMany(reply: Reply): boolean {
  const status = statusOf(reply)
  return status === '5.5.3' || (reply.code === 552 && status === '5.0.0')
}

export function refusalOf(of: Refusal['of'], reply: Reply): Refusal {
  const status = statusOf(reply)
  // RFC 5321 section 4.2.3 gives 552 to a full mailbox as well, which is a matter of the recipient.
  const isTooLarge =
    ['5.3.4', '5.2.3'].includes(status) || (of === 'message' && reply.code === 552 && status === '5.0.0')
  return { of, isPermanent: reply.code >= 500, isTooLarge, status, message: wordsOf(reply) }
}
