import { decodeQuotedPrintable, PADDING_MAX } from './transfer-encoding.ts'

/** Undoes a transfer encoding piece by piece. Never throws: what is not well formed is passed over. */
export interface TransferDecoder {
  push(bytes: Buffer): Buffer
  /** What was still held back. */
  end(): Buffer
}

const NOTHING = Buffer.alloc(0)

/** The decoder of a Content-Transfer-Encoding; 7bit, 8bit, binary and what is not known (uuencode) stay as they are. */
export function transferDecoder(encoding: string): TransferDecoder {
  if (encoding === 'base64') return base64Decoder()
  if (encoding === 'quoted-printable') return quotedPrintableDecoder()
  return { push: bytes => bytes, end: () => NOTHING }
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
  return {
    push(bytes) {
      const text = held + bytes.toString('latin1')
      // An escape, or the soft end of a line, may go on in the next piece.
      const cut = text.lastIndexOf('=')
      const keep = cut >= 0 && mayGoOn(text, cut) ? cut : text.length
      held = text.slice(keep)
      return decodeQuotedPrintable(text.slice(0, keep))
    },
    // The end of the last line may belong to what follows; the mark that it is soft does not.
    end: () => decodeQuotedPrintable(held.replace(/^=[ \t]*\r?$/, '')),
  }
}

/** Whether what begins with the last equals sign could be longer. */
function mayGoOn(text: string, cut: number): boolean {
  const length = text.length - cut
  return length < 3 || (length < PADDING_MAX + 3 && /^=[ \t]+\r?$/.test(text.slice(cut)))
}
