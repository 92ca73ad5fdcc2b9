import type { IncomingMessage } from 'node:http'

/**
 * Spellings of a path that a proxy in front may read in another way than we do, so that its rules would be passed by:
 * segments of dots, backslashes, and percent-encoded characters that need no encoding (RFC 3986 sections 2.3 and 6.2.2).
 * An encoded slash is part of an id, as threads of some providers have it, but never the end of a segment of dots.
 */
const AMBIGUOUS_PATH =
  /(?:\/|%2f)\.{1,2}(?:\/|%2f|$)|[\\#]|%(?:2[de]|3[0-9]|4[1-9a-f]|5[0-9acf]|6[1-9a-f]|7[0-9ae])/i
/** RFC 9112 section 3.2.2: a client of a proxy sends the whole URL. */
const ORIGIN = /^https?:\/\/[^/?#]*/i

/** The status to refuse a message with that a proxy could read in another way, or that we cannot read; null: none. */
export function messageFault({ url = '', rawHeaders, headers, httpVersion }: IncomingMessage): number | null {
  const target = url.replace(ORIGIN, '')
  const [path = ''] = target.split('?', 1)
  if (AMBIGUOUS_PATH.test(path) || target.includes('#')) return 400
  // RFC 9112 section 3.2: more than one Host is refused. Node keeps the first.
  if (rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length > 1)
    return 400
  const coding = headers['transfer-encoding']
  if (coding === undefined) return null
  // RFC 9112 section 6.1: HTTP/1.0 has no chunks, and another coding than chunks is not implemented.
  if (httpVersion === '1.0') return 400
  return coding.trim().toLowerCase() === 'chunked' ? null : 501
}

/** Whether a request that takes no body brings one. It is answered, and its connection ends before the body is read. */
export function hasNeedlessBody({ method, headers }: IncomingMessage): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
