/** Texts of X509_verify_cert_error_string(3). Node appends a remedy of its own. */
const UNTRUSTED =
  /^(?:self-signed certificate|unable to (?:verify the first|get (?:local )?issuer) certificate)/
const UNTRUSTED_WORDS =
  'its certificate was not issued by an authority that this service trusts. If the server is your own, ' +
  'the operator can add its authority with WAXWING_CA_FILE.'

/**
 * OpenSSL's reason for a failed handshake, without the position in its sources, and with what to do if that is clear.
 */
export function tlsReason(text: string): string {
  const reason = /error:[0-9A-F]{8}:[^:]*:[^:]*:([^:]+)/i.exec(text)?.[1] ?? text
  if (UNTRUSTED.test(reason)) return UNTRUSTED_WORDS
  // The first bytes were a greeting in plain text.
  if (!/wrong version number|packet length too long/.test(reason)) return reason
  return 'it does not speak TLS from the start on this port. Use security starttls, or the port for TLS.'
}
