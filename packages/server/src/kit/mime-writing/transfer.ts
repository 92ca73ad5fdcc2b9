import { doAtOnce, type Steps } from '../sliced-work.ts'

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
export function* encodeText(text: string): Steps<{ encoding: 'quoted-printable' | 'base64'; body: Buffer }> {
  const pieces: Buffer[] = []
  let beyondAscii = 0
  for (let start = 0; start < text.length;) {
    const end = endOfSlice(text, start)
    const piece = Buffer.from(text.slice(start, end).replaceAll(/\r\n|\r|\n/g, '\r\n'), 'utf8')
    for (let at = 0; at < piece.length; at++) if (piece[at]! > 126) beyondAscii++
    pieces.push(piece)
    start = end
    yield
  }
  const bytes = Buffer.concat(pieces)
  if (beyondAscii <= bytes.length / 6) {
    return { encoding: 'quoted-printable', body: yield* quotedPrintableSteps(bytes) }
  }
  const slices: Buffer[] = []
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    slices.push(encodeLines(bytes.subarray(at, at + SLICE_BYTES), at === 0))
    yield
  }
  return { encoding: 'base64', body: Buffer.concat(slices) }
}

/** The end of the slice that begins here. It divides neither a line break nor a character. */
function endOfSlice(text: string, start: number): number {
  const end = start + SLICE_BYTES
  return /^(?:\r\n|[\uD800-\uDBFF][\uDC00-\uDFFF])$/.test(text.slice(end - 1, end + 1)) ? end + 1 : end
}

/** Characters of an escape, and of a soft line break. */
const ESCAPE_LENGTH = 3
const PLAIN = Uint8Array.from({ length: 256 }, (_, byte) =>
  Number(byte > SPACE && byte <= 126 && byte !== EQUALS),
)
const DIGITS = Buffer.from('0123456789ABCDEF')

/**
 * Quoted-printable (section 6.7). Line breaks are CRLF; a CR or LF alone is encoded. So are a dot and `From ` at the
 * start of a line, which careless servers change.
 */
export function encodeQuotedPrintable(bytes: Uint8Array): Buffer {
  return doAtOnce(quotedPrintableSteps(bytes))
}

/** Encodes as `encodeQuotedPrintable` does, with a step for each slice of the content. */
function* quotedPrintableSteps(bytes: Uint8Array): Steps<Buffer> {
  const out = Buffer.allocUnsafe(Math.ceil(bytes.length * ESCAPE_LENGTH * 1.05) + ESCAPE_LENGTH)
  let length = 0
  let column = 0
  let sliceEnd = SLICE_BYTES
  const breakLine = () => {
    out[length++] = CR
    out[length++] = LF
    column = 0
  }
  for (let at = 0; at < bytes.length; at++) {
    if (at >= sliceEnd) {
      yield
      sliceEnd = at + SLICE_BYTES
    }
    const byte = bytes[at]!
    if (isLineBreak(bytes, at)) {
      breakLine()
      at++
      continue
    }
    const isLast = at + 1 === bytes.length || isLineBreak(bytes, at + 1)
    let isPlain = PLAIN[byte] === 1 || ((byte === SPACE || byte === TAB) && !isLast)
    // The last place of a line is for the soft line break, unless the line ends by itself.
    if (column + (isPlain ? 1 : ESCAPE_LENGTH) > LINE_LENGTH_MAX - (isLast ? 0 : 1)) {
      out[length++] = EQUALS
      breakLine()
    }
    if (column === 0 && isHazard(bytes, at)) isPlain = false
    if (isPlain) out[length++] = byte
    else {
      out[length++] = EQUALS
      out[length++] = DIGITS[byte >> 4]!
      out[length++] = DIGITS[byte & 15]!
    }
    column += isPlain ? 1 : ESCAPE_LENGTH
  }
  return out.subarray(0, length)
}

function isLineBreak(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === CR && bytes[at + 1] === LF
}

/** Whether a line must not begin with what is at this position. */
function isHazard(bytes: Uint8Array, at: number): boolean {
  if (bytes[at] === DOT) return true
  return bytes[at] === FROM[0] && FROM.every((byte, index) => bytes[at + index] === byte)
}
