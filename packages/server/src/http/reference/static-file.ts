import { createHash } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { parseAccept } from 'hono/utils/accept'
import type { AnswerHeaders } from '../answer.ts'

/** A file that never changes within a release, compressed once. */
export interface StaticFile {
  headers: AnswerHeaders
  content: Buffer<ArrayBuffer>
  gzipped: Buffer<ArrayBuffer>
  /** Digest of the content. Each of its two encodings has its own entity tag. */
  digest: string
}

export function staticFile(content: string, headers: AnswerHeaders): StaticFile {
  const digest = createHash('sha256').update(content).digest('base64url').slice(0, 22)
  const gzipped = Buffer.from(gzipSync(content, { level: 9 }))
  return {
    content: Buffer.from(content),
    gzipped,
    digest,
    headers: { 'cache-control': 'no-cache', ...headers },
  }
}

/**
 * Answers with the file, compressed if the client accepts gzip. Answers 304 if the client already has it (RFC 9110
 * section 13.1.2: weak comparison with a list of tags, or `*`).
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

/** Whether `Accept-Encoding` names gzip with a weight above zero. `*` alone does not count. */
function takesGzip(header: string): boolean {
  return parseAccept(header.toLowerCase()).some(({ type, q }) => type === 'gzip' && q > 0)
}
