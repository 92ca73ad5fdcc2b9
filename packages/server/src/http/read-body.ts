import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { OperationMeta } from '@waxwing/contract/operation.ts'
import type { Issue } from '@waxwing/contract/reasons.ts'
import { pathPart } from '../door/input-issues.ts'
import { scanJson } from './scan-json.ts'

const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*charset="?utf-8"?[ \t]*)?$/i

/** A body as received, with the result of scanning its bytes. */
export interface BodyBytes {
  bytes: Buffer
  issue: Issue | null
}

type BodyBounds = Pick<OperationMeta, 'bodyBytesMax' | 'bodyValuesMax'>

export type Body =
  /** Null if the request has no body. */
  | { outcome: 'read'; body: BodyBytes | null }
  | { outcome: 'too_large' }
  | { outcome: 'unsupported' }
  | { outcome: 'invalid'; issues: Issue[] }

export type Parsed = { outcome: 'parsed'; value: unknown } | { outcome: 'invalid'; issues: Issue[] }

/** Whether the request declares a body beyond the limit. */
export function declaresTooMuch(headers: Headers, bytesMax: number): boolean {
  return Number(headers.get('content-length') ?? 0) > bytesMax
}

/** Maximum number of bytes that the body of a request can have. */
export function bodyBytesAtMost(
  headers: Headers,
  { bodyBytesMax }: Pick<BodyBounds, 'bodyBytesMax'>,
): number {
  if (!hasBody(headers)) return 0
  return declaredBytes(headers) ?? bodyBytesMax
}

function declaredBytes(headers: Headers): number | null {
  const declared = headers.get('content-length')
  return declared === null ? null : Number(declared)
}

/**
 * Reads a JSON body within the limit. If the sender waits for 100 Continue (RFC 9110 section 10.1.1), it is sent;
 * HTTP/1.0 has no such wait.
 */
export async function readBody(
  headers: Headers,
  incoming: IncomingMessage,
  outgoing: Pick<ServerResponse, 'writeContinue'>,
  bounds: BodyBounds,
): Promise<Body> {
  const isBodiless = headers.get('content-length') === '0' || !hasBody(headers)
  if (isBodiless) return { outcome: 'read', body: null }
  const encoding = headers.get('content-encoding')
  if (!JSON_TYPE.test(headers.get('content-type') ?? '') || (encoding && encoding !== 'identity')) {
    return { outcome: 'unsupported' }
  }
  if (headers.has('expect') && incoming.httpVersion !== '1.0') outgoing.writeContinue()
  try {
    const body = await readScanned(incoming, bounds, declaredBytes(headers))
    if (body === null) return { outcome: 'too_large' }
    // A proxy that does not yet know whether there is a body sends it in chunks, possibly none.
    return { outcome: 'read', body: body.bytes.length === 0 ? null : body }
  } catch {
    // The client left or was too slow. It will hardly see this answer.
    return { outcome: 'invalid', issues: [{ path: [], message: 'The body ended early.' }] }
  }
}

/** RFC 9112 section 6.3: a request has a body only if it has one of these two headers. */
function hasBody(headers: Headers): boolean {
  return headers.has('content-length') || headers.has('transfer-encoding')
}

async function readScanned(
  incoming: Readable,
  { bodyBytesMax, bodyValuesMax }: BodyBounds,
  declared: number | null,
): Promise<BodyBytes | null> {
  const scan = scanJson(bodyValuesMax)
  // Scanned piece by piece, so that other requests are served in between, however large the body is.
  const bytes = await readBytes(incoming, bodyBytesMax, { declared, onPiece: piece => scan.add(piece) })
  return bytes && { bytes, issue: scan.issue() }
}

/**
 * Returns null if the body exceeds the limit. Keeps no more than the limit in memory, and a body of declared length only
 * once.
 */
export async function readBytes(
  incoming: Readable,
  bytesMax: number,
  { declared = null, onPiece }: { declared?: number | null; onPiece?: (piece: Buffer) => void } = {},
): Promise<Buffer<ArrayBuffer> | null> {
  if (declared !== null && declared > bytesMax) return null
  const whole = declared === null ? null : Buffer.allocUnsafe(declared)
  const chunks: Buffer[] = []
  let size = 0
  // Not as a web stream: that would handle each chunk of HTTP by itself, and a chunk can be a single byte. The
  // connection stays open, because the refusal of a body that is too large goes over it.
  const pieces = incoming.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>
  for await (const piece of pieces) {
    size += piece.length
    if (size > bytesMax) return null
    if (whole) piece.copy(whole, size - piece.length)
    else chunks.push(piece)
    onPiece?.(piece)
  }
  if (!whole) return Buffer.concat(chunks)
  if (size !== whole.length) throw new Error('The body ended early')
  return whole
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Parses a body. A request without one is read as an empty object. */
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
 * The path of text that PostgreSQL cannot store, or null. The scan has limited the number of values and their depth.
 * `path` is the path of `value`.
 */
function findUnstorable(value: unknown, path: Issue['path'] = []): Issue | null {
  if (typeof value === 'string') return isStorable(value) ? null : { path, message: UNSTORABLE }
  if (typeof value !== 'object' || value === null) return null
  for (const [key, inner] of Object.entries(value)) {
    if (!isStorable(key)) return { path, message: UNSTORABLE }
    // Most values are numbers and short texts, for which making a path would cost more than the check.
    if (typeof inner === 'string' ? isStorable(inner) : typeof inner !== 'object') continue
    const found = findUnstorable(inner, [...path, Array.isArray(value) ? Number(key) : pathPart(key)])
    if (found) return found
  }
  return null
}

function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed()
}
