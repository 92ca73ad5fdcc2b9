import { factsOf } from './connection-reason.ts'

const UNTRUSTED =
  'its certificate was not issued by an authority that this service trusts. If the server is your own, ' +
  'the operator can add its authority with WAXWING_CA_FILE.'

/** Patterns for the code and the message of an error, which come from Node, OpenSSL or imapflow. */
const REASONS: ReadonlyArray<readonly [RegExp, string]> = [
  // An alert is sent by the server, so this is about the certificate of this service.
  [
    /alert (?:[a-z]+ )?certificate|alert unknown ca/,
    'it wants a certificate from this service, which has none to show.',
  ],
  [/SELF_SIGNED|self-signed|UNABLE_TO_(?:VERIFY|GET)|unable to (?:verify|get)/, UNTRUSTED],
  [/ALTNAME|altnames|HOSTNAME_MISMATCH/, 'its certificate is for another name.'],
  [/HAS_EXPIRED|has expired/, 'its certificate has expired.'],
  [/NOT_YET_VALID|not yet valid/, 'its certificate is not valid yet.'],
  [/CERT_|certificate/, 'its certificate is not valid.'],
  // The first bytes were a greeting in plain text.
  [
    /wrong version number|packet length too long/,
    'it does not speak TLS from the start on this port. Use security starttls, or the port for TLS.',
  ],
  [/unsupported protocol|protocol version/, 'it does not speak TLS 1.2 or later.'],
  [/handshake failure|no shared cipher/, 'it has no way of encryption in common with this service.'],
  [/STARTTLS_INJECTION/, 'it sent something before the handshake that may come from somebody else.'],
  [/TIMEOUT|ETIMEDOUT/, 'it did not answer in time.'],
  [/ECONNRESET|EPIPE|socket disconnected|NoConnection|ClosedAfterConnect/, 'it ended the connection.'],
]

/**
 * The reason why there is no secure connection to a server, as the end of a sentence, with advice if the cause is
 * clear.
 */
export function tlsReason(error: unknown): string {
  const { code, message } = factsOf(error)
  const found = REASONS.find(([pattern]) => pattern.test(code) || pattern.test(message))
  return found?.[1] ?? 'the handshake failed.'
}
