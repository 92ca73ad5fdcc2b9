import type { Issue } from '@waxwing/contract/reasons.ts'

/** Bound of a request's body; operations that take more name theirs. */
export const BODY_BYTES_MAX = 2 * 1024 * 1024

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i

export type Body =
  /** Null: the request has none. */
  | { outcome: 'read'; bytes: Buffer | null }
  | { outcome: 'too_large' }
  | { outcome: 'unsupported' }
  | { outcome: 'invalid'; issues: Issue[] }

export type Parsed = { outcome: 'parsed'; value: unknown } | { outcome: 'invalid'; issues: Issue[] }

/** Whether the request says that its body exceeds the bound. */
export function declaresTooMuch(headers: Headers): boolean {
  return Number(headers.get('content-length') ?? 0) > BODY_BYTES_MAX
}

/** Reads a JSON body within the bound. */
export async function readBody(request: Request): Promise<Body> {
  const { headers } = request
  const isBodiless = headers.get('content-length') === '0' || !hasBody(headers)
  if (isBodiless) return { outcome: 'read', bytes: null }
  const encoding = headers.get('content-encoding')
  if (!JSON_TYPE.test(headers.get('content-type') ?? '') || (encoding && encoding !== 'identity')) {
    return { outcome: 'unsupported' }
  }
  try {
    const bytes = await readBytes(request)
    if (bytes === null) return { outcome: 'too_large' }
    // A proxy that does not know yet whether there is a body sends it in chunks, even if there are none.
    return { outcome: 'read', bytes: bytes.length === 0 ? null : bytes }
  } catch {
    // The client went away or dribbled: a fault of its own, though it hardly hears so.
    return { outcome: 'invalid', issues: [{ path: [], message: 'The body ended early.' }] }
  }
}

/** RFC 9112 section 6.3: a request has a body only where one of the two says so. */
function hasBody(headers: Headers): boolean {
  return headers.has('content-length') || headers.has('transfer-encoding')
}

/** Null where the body exceeds the bound; nothing beyond it is kept. */
async function readBytes(request: Request): Promise<Buffer | null> {
  const chunks: Uint8Array[] = []
  let size = 0
  if (request.body === null) return Buffer.alloc(0)
  const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return Buffer.concat(chunks)
    size += value.length
    if (size > BODY_BYTES_MAX) return null
    chunks.push(value)
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The value of a body. A request without one reads as an empty object. */
export function parseBody(bytes: Buffer | null): Parsed {
  if (bytes === null) return { outcome: 'parsed', value: {} }
  let text: string
  let value: unknown
  try {
    text = utf8.decode(bytes)
    value = JSON.parse(text)
  } catch {
    return { outcome: 'invalid', issues: [{ path: [], message: 'The body is not valid JSON in UTF-8.' }] }
  }
  // Only an escape brings such a character into a string, and few bodies hold one, so few are searched.
  const issue = SUSPECT_ESCAPE.test(text) ? findUnstorable(value) : null
  return issue ? { outcome: 'invalid', issues: [issue] } : { outcome: 'parsed', value }
}

const SUSPECT_ESCAPE = /\\u(?:0000|d[89a-f])/i
const UNSTORABLE = 'must not contain U+0000 or half of a surrogate pair'
/** No body of the interface nests as deep. Each value that is looked at costs a copy of its path. */
const DEPTH_MAX = 32

/** Where the value holds text that PostgreSQL cannot store; null where nowhere. */
function findUnstorable(value: unknown): Issue | null {
  const isUnstorable = (text: string) => text.includes('\0') || !text.isWellFormed()
  const pending: { at: unknown; path: Issue['path'] }[] = [{ at: value, path: [] }]
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { at, path } = next
    if (typeof at === 'string' && isUnstorable(at)) return { path, message: UNSTORABLE }
    if (typeof at !== 'object' || at === null) continue
    if (path.length > DEPTH_MAX) return { path, message: 'is nested too deeply' }
    for (const [key, inner] of Object.entries(at)) {
      if (isUnstorable(key)) return { path, message: UNSTORABLE }
      pending.push({ at: inner, path: [...path, Array.isArray(at) ? Number(key) : key] })
    }
  }
  return null
}
