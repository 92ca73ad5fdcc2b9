import { ProviderFailure } from '../failure.ts'
import { serverText } from '../server-text.ts'
import { tlsReason } from '../tls-reason.ts'

/** RFC 5321 section 4.2.1: a server that refuses, in its own words. */
const REFUSAL = /^[45]\d\d[ -]/

/** The properties of nodemailer's errors that matter here. */
interface SmtpError {
  code?: unknown
  message?: unknown
  response?: unknown
  responseCode?: unknown
}

/** The failure for an error of nodemailer or of the network; a `ProviderFailure` is returned unchanged. */
export function toFailure(error: unknown): ProviderFailure {
  if (error instanceof ProviderFailure) return error
  const { code, message, response, responseCode }: SmtpError =
    typeof error === 'object' && error !== null ? error : {}
  const text = serverText(typeof response === 'string' ? response : message)
  if (code === 'EAUTH') {
    // RFC 4954 section 6: 4yz is a problem of the server (454, 421), 5yz one of the credentials.
    const isTemporary = typeof responseCode === 'number' && responseCode < 500
    const kind = isTemporary ? 'unavailable' : 'login_failed'
    return new ProviderFailure(kind, `The server refused the login: ${text}`, { cause: error })
  }
  // What another kind of service says first must not be shown.
  if (typeof message === 'string' && message.startsWith('Invalid greeting') && !REFUSAL.test(text)) {
    return new ProviderFailure(
      'unsupported',
      'This host and port do not answer as an SMTP server. Check both.',
      {
        cause: error,
      },
    )
  }
  if (typeof message === 'string' && /with STARTTLS/.test(message)) {
    return new ProviderFailure('unsupported', 'The server does not offer STARTTLS.', { cause: error })
  }
  // nodemailer uses one code of its own for every error of the socket, so only the text shows the cause.
  if (code === 'ETLS' || /certificate|\b(?:tls|ssl)\b/i.test(text)) {
    return new ProviderFailure('unavailable', `No secure connection to the server: ${tlsReason(text)}`, {
      cause: error,
    })
  }
  return new ProviderFailure('unavailable', `The connection to the server failed: ${text}`, { cause: error })
}
