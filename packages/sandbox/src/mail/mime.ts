import {
  decodeCharset,
  headerOf,
  parseHeaders,
  parseParameters,
  quotedPrintable,
  type Header,
} from './headers.ts'

/** One part of a message. Its body is a span of the message's bytes. */
export interface Part {
  /** Gmail's number: empty for the message itself, then 0, 1, 1.0 … */
  partId: string
  headers: Header[]
  mimeType: string
  charset: string
  filename: string
  /** Offset of its header block. */
  start: number
  bodyStart: number
  bodyEnd: number
  parts: Part[]
}

const DEPTH_MAX = 30
const PARTS_MAX = 1_000

/** Parses a whole message into its tree of parts. */
export const parseMessage = (raw: Buffer): Part =>
  partAt(raw, 0, raw.length, '', { depth: 0, budget: { parts: PARTS_MAX } })

/** The end of the header block that starts at `start`, and where the body begins. */
export function headerEnd(
  raw: Buffer,
  start: number,
  end: number,
): { headersEnd: number; bodyStart: number } {
  for (let at = start; at < end;) {
    const newline = raw.indexOf(10, at)
    if (newline < 0 || newline >= end) return { headersEnd: end, bodyStart: end }
    if (newline === at || (newline === at + 1 && raw[at] === 13))
      return { headersEnd: at, bodyStart: newline + 1 }
    at = newline + 1
  }
  return { headersEnd: end, bodyStart: end }
}

interface Bounds {
  depth: number
  budget: { parts: number }
}

function partAt(raw: Buffer, start: number, end: number, partId: string, bounds: Bounds): Part {
  const { headersEnd, bodyStart } = headerEnd(raw, start, end)
  const headers = parseHeaders(raw.subarray(start, headersEnd))
  const type = parseParameters(headerOf(headers, 'Content-Type') || 'text/plain')
  const disposition = parseParameters(headerOf(headers, 'Content-Disposition'))
  const part: Part = {
    partId,
    headers,
    mimeType: type.value || 'text/plain',
    charset: type.parameters.get('charset') ?? 'utf-8',
    filename: disposition.parameters.get('filename') ?? type.parameters.get('name') ?? '',
    start,
    bodyStart,
    bodyEnd: end,
    parts: [],
  }
  if (bounds.depth >= DEPTH_MAX) return part
  const child = (from: number, to: number): void => {
    if (bounds.budget.parts-- <= 0) return
    const id = partId === '' ? `${part.parts.length}` : `${partId}.${part.parts.length}`
    part.parts.push(partAt(raw, from, to, id, { ...bounds, depth: bounds.depth + 1 }))
  }
  const boundary = type.parameters.get('boundary')
  if (part.mimeType.startsWith('multipart/') && boundary) {
    for (const [from, to] of spansBetween(raw, bodyStart, end, boundary)) child(from, to)
  } else if (part.mimeType === 'message/rfc822' && partId !== '') child(bodyStart, end)
  return part
}

/** The spans between the boundary lines of a multipart body (RFC 2046 section 5.1). */
function spansBetween(raw: Buffer, start: number, end: number, boundary: string): [number, number][] {
  const spans: [number, number][] = []
  const delimiter = Buffer.from(`--${boundary}`, 'latin1')
  let open = -1
  for (let at = raw.indexOf(delimiter, start); at >= 0 && at < end; at = raw.indexOf(delimiter, at + 1)) {
    if (at > start && raw[at - 1] !== 10) continue
    const after = at + delimiter.length
    const closing = raw[after] === 45 && raw[after + 1] === 45
    const lineEnd = raw.indexOf(10, after)
    const rest = raw.subarray(closing ? after + 2 : after, lineEnd < 0 ? end : lineEnd)
    if (!/^[ \t]*\r?$/.test(rest.toString('latin1'))) continue
    if (open >= 0) spans.push([open, Math.max(open, at - (raw[at - 2] === 13 ? 2 : 1))])
    open = closing || lineEnd < 0 ? -1 : lineEnd + 1
    if (closing) break
  }
  if (open >= 0 && open < end) spans.push([open, end])
  return spans
}

/** The decoded bytes of a part. Text comes in UTF-8, whatever its charset was. */
export function partBytes(raw: Buffer, part: Part): Buffer {
  const body = raw.subarray(part.bodyStart, part.bodyEnd)
  const encoding = headerOf(part.headers, 'Content-Transfer-Encoding').trim().toLowerCase()
  const bytes =
    encoding === 'base64'
      ? Buffer.from(body.toString('latin1'), 'base64')
      : encoding === 'quoted-printable'
        ? quotedPrintable(body)
        : body
  if (!part.mimeType.startsWith('text/') || part.filename !== '') return bytes
  return /^(?:utf-?8|us-ascii)$/i.test(part.charset) ? bytes : Buffer.from(decodeCharset(bytes, part.charset))
}

/** Whether Gmail serves the part by an attachment id, and not inside the message. */
export const isAttachment = (part: Part): boolean =>
  !part.mimeType.startsWith('multipart/') && (part.filename !== '' || !part.mimeType.startsWith('text/'))

/** Every part of the tree, the root first. */
export function* partsOf(part: Part): Generator<Part> {
  yield part
  for (const child of part.parts) yield* partsOf(child)
}

/** Every part of the tree but those of attached messages, the root first. */
export function* ownPartsOf(part: Part): Generator<Part> {
  yield part
  if (part.mimeType !== 'message/rfc822') for (const child of part.parts) yield* ownPartsOf(child)
}
