import { toHex } from './encoded-words.ts'

/* Transfer encodings (RFC 2045 section 6), so that every body is 7-bit with lines of at most 76 characters. */

const LINE_LENGTH_MAX = 76
const LINE_BYTES = (LINE_LENGTH_MAX / 4) * 3
/** Bytes that are encoded at once, a whole number of lines. */
const SLICE_BYTES = LINE_BYTES * 1024

const LF = 10
const CR = 13
const TAB = 9
const SPACE = 32
const DOT = 46
const EQUALS = 61
const FROM = Buffer.from('From ')

/** Length in base64, with CRLF between the lines and none at the end. */
export function base64Length(bytes: number): number {
  const length = Math.ceil(bytes / 3) * 4
  return length + 2 * Math.max(0, Math.ceil(length / LINE_LENGTH_MAX) - 1)
}

/** Encodes content as it passes. There is no line break after the last line. */
export async function* encodeBase64(content: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let held: Buffer[] = []
  let heldBytes = 0
  let isFirst = true
  const encode = (bytes: Buffer) => {
    const lines = encodeLines(bytes, isFirst)
    isFirst = false
    return lines
  }
  for await (const bytes of content) {
    held.push(asBuffer(bytes))
    heldBytes += bytes.length
    if (heldBytes < SLICE_BYTES) continue
    const all = held.length === 1 ? held[0]! : Buffer.concat(held)
    let at = 0
    for (; all.length - at >= SLICE_BYTES; at += SLICE_BYTES) yield encode(all.subarray(at, at + SLICE_BYTES))
    // A copy, so that the whole chunk is not kept for its rest.
    held = at < all.length ? [Buffer.from(all.subarray(at))] : []
    heldBytes = all.length - at
  }
  if (heldBytes > 0) yield encode(Buffer.concat(held))
}

function encodeLines(bytes: Buffer, isFirst: boolean): Buffer {
  const text = bytes.toString('base64')
  const encoded = Buffer.allocUnsafe(base64Length(bytes.length) + (isFirst ? 0 : 2))
  let to = 0
  for (let from = 0; from < text.length; from += LINE_LENGTH_MAX) {
    if (to > 0 || !isFirst) to += encoded.write('\r\n', to, 'latin1')
    to += encoded.write(text.slice(from, from + LINE_LENGTH_MAX), to, 'latin1')
  }
  return encoded
}

export function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** A text as UTF-8 with CRLF after each of its lines but the last, and how to encode it. */
export function encodeText(text: string): { encoding: 'quoted-printable' | 'base64'; body: Buffer } {
  const bytes = Buffer.from(text.replaceAll(/\r\n|\r|\n/g, '\r\n'), 'utf8')
  let beyondAscii = 0
  for (const byte of bytes) if (byte > 126) beyondAscii++
  if (beyondAscii > bytes.length / 6) return { encoding: 'base64', body: encodeLines(bytes, true) }
  return { encoding: 'quoted-printable', body: Buffer.from(encodeQuotedPrintable(bytes), 'latin1') }
}

/**
 * Quoted-printable (section 6.7). Line breaks are CRLF; a CR or LF alone is encoded. So are a dot and `From ` at the
 * start of a line, which careless servers change.
 */
export function encodeQuotedPrintable(bytes: Uint8Array): string {
  const lines: string[] = []
  let line = ''
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]!
    if (byte === CR && bytes[at + 1] === LF) {
      lines.push(line)
      line = ''
      at++
      continue
    }
    const next = bytes[at + 1]
    const isLast = next === undefined || (next === CR && bytes[at + 2] === LF)
    let piece = isPlain(byte, isLast) ? String.fromCharCode(byte) : `=${toHex(byte)}`
    // The last place of a line is for the soft line break, unless the line ends by itself.
    if (line.length + piece.length > LINE_LENGTH_MAX - (isLast ? 0 : 1)) {
      lines.push(`${line}=`)
      line = ''
    }
    if (line === '' && isHazard(bytes, at)) piece = `=${toHex(byte)}`
    line += piece
  }
  lines.push(line)
  return lines.join('\r\n')
}

function isPlain(byte: number, isLast: boolean): boolean {
  if (byte === SPACE || byte === TAB) return !isLast
  return byte !== EQUALS && byte > SPACE && byte <= 126
}

/** Whether a line must not begin with what is at this position. */
function isHazard(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === DOT || FROM.every((byte, index) => bytes[at + index] === byte)
}
