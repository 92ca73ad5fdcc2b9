import type { TransferDecoder } from './transfer-encoding.ts'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { decodeQuotedPrintable, isBlank, PADDING_MAX } from './transfer-encoding.ts'
import { uuDecoder } from './uuencode.ts'

const NOTHING = Buffer.alloc(0)

const UUENCODE = new Set(['x-uuencode', 'uuencode', 'x-uue', 'uue'])

/**
 * Creates the decoder of a Content-Transfer-Encoding. Content in 7bit, 8bit, binary and unknown encodings stays as it
 * is.
 */
export function transferDecoder(encoding: string): TransferDecoder {
  if (encoding === 'base64') return base64Decoder()
  if (encoding === 'quoted-printable') return quotedPrintableDecoder()
  if (UUENCODE.has(encoding)) return uuDecoder()
  return { push: bytes => bytes, end: () => NOTHING }
}

/** Bytes that are decoded before the event loop runs again: two bytes of uuencode can become 63. */
const SLICE_BYTES = 32 * 1024

/**
 * Undoes a transfer encoding in the thread that serves requests. They never wait long, however large the pieces are.
 */
export async function* decodeContent(
  content: AsyncIterable<Buffer>,
  encoding: string,
): AsyncGenerator<Buffer> {
  const decoder = transferDecoder(encoding)
  for await (const bytes of content) {
    for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
      const decoded = decoder.push(bytes.subarray(at, at + SLICE_BYTES))
      if (decoded.length > 0) yield decoded
      await nextTurn()
    }
  }
  const rest = decoder.end()
  if (rest.length > 0) yield rest
}

/** RFC 2045 section 6.8: other characters are ignored, and padding is the end of the data. */
function base64Decoder(): TransferDecoder {
  let held = ''
  let isOver = false
  return {
    push(bytes) {
      if (isOver) return NOTHING
      const text = held + bytes.toString('latin1').replaceAll(/[^A-Za-z0-9+/=]+/g, '')
      const padding = text.indexOf('=')
      isOver = padding >= 0
      const length = isOver ? padding : text.length - (text.length % 4)
      held = isOver ? '' : text.slice(length)
      return Buffer.from(text.slice(0, length), 'base64')
    },
    end: () => Buffer.from(held, 'base64'),
  }
}

function quotedPrintableDecoder(): TransferDecoder {
  let held = ''
  /**
   * Whether the last piece ended in more blanks than a line may have. Such blanks are kept, and so are the following ones.
   */
  let isInLongRun = false
  return {
    push(bytes) {
      const text = held + bytes.toString('latin1')
      const start = isInLongRun ? skipBlanks(text) : 0
      const run = blanksAtEnd(text, start)
      isInLongRun = start === text.length ? isInLongRun : run.length > PADDING_MAX
      // An escape, a soft line break, or blanks before a line break may continue in the next piece.
      const cut = text.lastIndexOf('=')
      let keep = isInLongRun ? text.length : run.start
      if (cut >= start && mayGoOn(text, cut)) keep = cut
      held = text.slice(keep)
      const decoded = decodeQuotedPrintable(text.slice(start, keep))
      return start === 0 ? decoded : Buffer.concat([Buffer.from(text.slice(0, start), 'latin1'), decoded])
    },
    // The last line break may belong to what follows; the mark of a soft break, and blanks before it, do not.
    end: () => decodeQuotedPrintable(held.replace(/^=?[ \t]*\r?$/, '')),
  }
}

function skipBlanks(text: string): number {
  let at = 0
  while (isBlank(text.charCodeAt(at))) at++
  return at
}

/** The blanks at the end of a text, perhaps before a carriage return; searched only as far as they matter. */
function blanksAtEnd(text: string, from: number): { start: number; length: number } {
  const end = text.endsWith('\r') && text.length > from ? text.length - 1 : text.length
  let start = end
  while (start > from && end - start <= PADDING_MAX && isBlank(text.charCodeAt(start - 1))) start--
  return start === end ? { start: text.length, length: 0 } : { start, length: end - start }
}

/** Whether the text from the last equals sign on could continue. */
function mayGoOn(text: string, cut: number): boolean {
  const length = text.length - cut
  return length < 3 || (length < PADDING_MAX + 3 && /^=[ \t]+\r?$/.test(text.slice(cut)))
}
