import { ProviderFailure } from '../provider.ts'
import { tlsReason } from '../tls-reason.ts'

const TEXT_LENGTH_MAX = 300

/** What nodemailer puts on its errors, as far as it matters here. */
interface SmtpError {
  code?: unknown
  message?: unknown
  response?: unknown
  responseCode?: unknown
}

/** The failure that an error of nodemailer or of the network means; a `ProviderFailure` is passed on. */
export function toFailure(error: unknown): ProviderFailure {
  if (error instanceof ProviderFailure) return error
  const { code, message, response, responseCode }: SmtpError =
    typeof error === 'object' && error !== null ? error : {}
  const text = clean(typeof response === 'string' ? response : message)
  if (code === 'EAUTH') {
    // RFC 4954 section 6: 4yz is the server's trouble (454, 421), 5yz the credentials'.
    const isTemporary = typeof responseCode === 'number' && responseCode < 500
    const kind = isTemporary ? 'unavailable' : 'login_failed'
    return new ProviderFailure(kind, `The server refused the login: ${text}`, { cause: error })
  }
  if (typeof message === 'string' && /with STARTTLS/.test(message)) {
    return new ProviderFailure('unsupported', 'The server does not offer STARTTLS.', { cause: error })
  }
  // nodemailer puts one code of its own on every error of the socket, so the words have to tell.
  if (code === 'ETLS' || /certificate|\b(?:tls|ssl)\b/i.test(text)) {
    return new ProviderFailure('unavailable', `No secure connection to the server: ${tlsReason(text)}`, {
      cause: error,
    })
  }
  return new ProviderFailure('unavailable', `The connection to the server failed: ${text}`, { cause: error })
}

function clean(text: unknown): string {
  return typeof text === 'string'
    ? text
        .replaceAll(/[\p{Cc}\s]+/gu, ' ')
        .trim()
        .slice(0, TEXT_LENGTH_MAX)
    : ''
}
