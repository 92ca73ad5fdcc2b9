import type { IncomingMessage } from 'node:http'
import { type ErrorBody, errorOfStatus, protocolError } from './answer.ts'

/**
 * Spellings of a path that a proxy may interpret differently, so that its rules could be bypassed: dot segments,
 * backslashes, and percent-encoded characters that need no encoding (RFC 3986 sections 2.3 and 6.2.2). An encoded slash
 * may be part of an id, such as the thread ids of some providers, but never the end of a dot segment.
 */
const AMBIGUOUS_PATH =
  /(?:\/|%2f)\.{1,2}(?:\/|%2f|$)|\\|%(?:2[de]|3[0-9]|4[1-9a-f]|5[0-9acf]|6[1-9a-f]|7[0-9ae])/i
/** RFC 9112 section 3.2.2: a client of a proxy sends the whole URL. */
const ORIGIN = /^https?:\/\/[^/?#]*/i

const MALFORMED: ErrorBody = protocolError('bad_request')
const AMBIGUOUS: ErrorBody = {
  ...MALFORMED,
  message: 'The path must have no dot segments, backslashes or needless percent-encoding.',
}
const UNKNOWN_CODING = errorOfStatus(
  501,
  'Send the body with Content-Length, or with Transfer-Encoding: chunked alone.',
)
export const UNKNOWN_EXPECTATION = errorOfStatus(417, 'Only Expect: 100-continue is supported.')

/**
 * Returns the error for a message that a proxy could interpret differently, or that we cannot read. Null if there is
 * none.
 */
export function messageFault(message: IncomingMessage): ErrorBody | null {
  const { url = '', rawHeaders, headers, httpVersion } = message
  const target = url.replace(ORIGIN, '')
  const [path = ''] = target.split('?', 1)
  if (target.includes('#')) return MALFORMED
  if (AMBIGUOUS_PATH.test(path)) return AMBIGUOUS
  // RFC 9112 section 3.2: a message with more than one Host is refused. Node keeps only the first.
  if (rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length > 1)
    return MALFORMED
  const coding = headers['transfer-encoding']
  if (coding === undefined) return null
  // RFC 9112 section 6.1: HTTP/1.0 has no chunks. No transfer coding but chunks is implemented.
  if (httpVersion === '1.0') return MALFORMED
  return coding.trim().toLowerCase() === 'chunked' ? null : UNKNOWN_CODING
}

/** Whether a request that takes no body has one. It is answered, and its connection ends before the body is read. */
export function hasNeedlessBody({ method, headers }: IncomingMessage): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
