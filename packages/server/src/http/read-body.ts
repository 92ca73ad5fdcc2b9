import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { Issue } from '@waxwing/contract/reasons.ts'
import { pathPart } from '../door/input-issues.ts'
import { scanJson } from './scan-json.ts'

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i

/** A body as it came, with what the scan of its bytes says against it. */
export interface BodyBytes {
  bytes: Buffer
  issue: Issue | null
}

export type Body =
  /** Null: the request has none. */
  | { outcome: 'read'; body: BodyBytes | null }
  | { outcome: 'too_large' }
  | { outcome: 'unsupported' }
  | { outcome: 'invalid'; issues: Issue[] }

export type Parsed = { outcome: 'parsed'; value: unknown } | { outcome: 'invalid'; issues: Issue[] }

/** Whether the request says that its body exceeds the bound. */
export function declaresTooMuch(headers: Headers, bytesMax: number): boolean {
  return Number(headers.get('content-length') ?? 0) > bytesMax
}

/**
 * Reads a JSON body within the bound. A sender that waits to be asked for it (RFC 9110 section 10.1.1) is asked; HTTP/1.0
 * does not know how to wait.
 */
export async function readBody(
  headers: Headers,
  incoming: IncomingMessage,
  outgoing: Pick<ServerResponse, 'writeContinue'>,
  bytesMax: number,
): Promise<Body> {
  const isBodiless = headers.get('content-length') === '0' || !hasBody(headers)
  if (isBodiless) return { outcome: 'read', body: null }
  const encoding = headers.get('content-encoding')
  if (!JSON_TYPE.test(headers.get('content-type') ?? '') || (encoding && encoding !== 'identity')) {
    return { outcome: 'unsupported' }
  }
  if (headers.has('expect') && incoming.httpVersion !== '1.0') outgoing.writeContinue()
  try {
    const body = await readBytes(incoming, bytesMax)
    if (body === null) return { outcome: 'too_large' }
    // A proxy that does not know yet whether there is a body sends it in chunks, even if there are none.
    return { outcome: 'read', body: body.bytes.length === 0 ? null : body }
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
async function readBytes(incoming: Readable, bytesMax: number): Promise<BodyBytes | null> {
  const chunks: Buffer[] = []
  const scan = scanJson()
  let size = 0
  // Not as a web stream: that would take each chunk of HTTP by itself, and a chunk can be a single byte. The connection
  // stays, because the refusal of a body that is too large goes over it.
  const pieces = incoming.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>
  for await (const piece of pieces) {
    size += piece.length
    if (size > bytesMax) return null
    chunks.push(piece)
    // Piece by piece, so that other requests are served in between however large the body is.
    scan.add(piece)
  }
  return { bytes: Buffer.concat(chunks), issue: scan.issue() }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The value of a body. A request without one reads as an empty object. */
export function parseBody(body: BodyBytes | null): Parsed {
  if (body === null) return { outcome: 'parsed', value: {} }
  if (body.issue) return { outcome: 'invalid', issues: [body.issue] }
  let value: unknown
  try {
    value = JSON.parse(utf8.decode(body.bytes))
  } catch {
    return { outcome: 'invalid', issues: [{ path: [], message: 'The body is not valid JSON in UTF-8.' }] }
  }
  const issue = findUnstorable(value)
  return issue ? { outcome: 'invalid', issues: [issue] } : { outcome: 'parsed', value }
}

const UNSTORABLE = 'must not contain U+0000 or half of a surrogate pair'

/**
 * Where the value holds text that PostgreSQL cannot store; null where nowhere. The scan has bounded its values and its
 * depth, and `path` is where `value` is.
 */
function findUnstorable(value: unknown, path: Issue['path'] = []): Issue | null {
  if (typeof value === 'string') return isStorable(value) ? null : { path, message: UNSTORABLE }
  if (typeof value !== 'object' || value === null) return null
  for (const [key, inner] of Object.entries(value)) {
    if (!isStorable(key)) return { path, message: UNSTORABLE }
    // Most values are numbers and short texts, for which a path would cost more than the look.
    if (typeof inner === 'string' ? isStorable(inner) : typeof inner !== 'object') continue
    const found = findUnstorable(inner, [...path, Array.isArray(value) ? Number(key) : pathPart(key)])
    if (found) return found
  }
  return null
}

function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}
