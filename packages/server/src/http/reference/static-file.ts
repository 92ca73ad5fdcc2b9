import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { parseAccept } from 'hono/utils/accept'
import type { AnswerHeaders } from '../answer.ts'

/** A file that stays the same until another release runs, compressed once. */
export interface StaticFile {
  headers: AnswerHeaders
  content: string
  gzipped: Buffer<ArrayBuffer>
  /** Digest of the content; each of its two encodings has an entity tag of its own. */
  digest: string
}

export function staticFile(content: string, headers: AnswerHeaders): StaticFile {
  const digest = createHash('sha256').update(content).digest('base64url').slice(0, 22)
  const gzipped = Buffer.from(gzipSync(content, { level: 9 }))
  return { content, gzipped, digest, headers: { 'cache-control': 'no-cache', ...headers } }
}

/**
 * Answers with the file, compressed where the caller takes gzip; 304 where the caller has it already (RFC 9110 section
 * 13.1.2: compared weakly, any of a list, or `*`).
 */
export function answerFile(request: Request, headers: AnswerHeaders, file: StaticFile): Response {
  const isGzip = takesGzip(request.headers.get('accept-encoding') ?? '')
  const plainTag = `"${file.digest}"`
  const gzipTag = `"${file.digest}-gzip"`
  const all: AnswerHeaders = {
    ...headers,
    ...file.headers,
    etag: isGzip ? gzipTag : plainTag,
    vary: [headers['vary'], 'Accept-Encoding'].filter(Boolean).join(', '),
  }
  const asked = request.headers.get('if-none-match') ?? ''
  const known = new Set(asked.split(',').map(tag => tag.trim().replace(/^W\//, '')))
  if (known.has(plainTag) || known.has(gzipTag) || known.has('*'))
    return new Response(null, { status: 304, headers: all })
  return isGzip
    ? new Response(file.gzipped, { headers: { ...all, 'content-encoding': 'gzip' } })
    : new Response(file.content, { headers: all })
}

/** Whether `Accept-Encoding` names gzip with a weight above zero; `*` alone is no reason to compress. */
function takesGzip(header: string): boolean {
  return parseAccept(header.toLowerCase()).some(({ type, q }) => type === 'gzip' && q > 0)
}
