/** What OpenSSL says of a failed handshake, without where in its sources; with what to do where that is plain. */
export function tlsReason(text: string): string {
  const reason = /error:[0-9A-F]{8}:[^:]*:[^:]*:([^:]+)/i.exec(text)?.[1] ?? text
  // The first octets that came were a greeting in the clear.
  if (!/wrong version number|packet length too long/.test(reason)) return reason
  return 'it does not speak TLS from the start on this port. Use security starttls, or the port for TLS.'
}
