import { fieldText, type Header } from './header.ts'

/**
 * The transfer encoding that a header names, in lower case, without the comments, quotes and second words that some
 * have.
 */
export function readTransferEncoding(header: Header): string {
  return /[^\s;("]+/.exec((fieldText(header, 'content-transfer-encoding') ?? '').toLowerCase())?.[0] ?? ''
}

/** Maximum number of blanks at the end of a line that transports may have added. A line has no more characters. */
export const PADDING_MAX = 76
const CR = 13
const LF = 10
const EQUALS = 61

/**
 * The bytes of quoted-printable text (RFC 2045 section 6.7), given as latin1. Blanks before a line break are dropped
 * (rule 3). Tolerates malformed input.
 */
export function decodeQuotedPrintable(text: string): Buffer {
  const out = Buffer.allocUnsafe(text.length)
  let length = 0
  /** Characters from an escape are not padding. */
  let escapeEnd = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code !== EQUALS) {
      if (code === LF) length = dropPadding(out, escapeEnd, length)
      out[length++] = code
      continue
    }
    const next = text.charCodeAt(at + 1)
    const high = hexDigit(next)
    const low = high < 0 ? -1 : hexDigit(text.charCodeAt(at + 2))
    if (low >= 0) {
      out[length++] = high * 16 + low
      at += 2
    } else {
      const end = softEnd(text, at + 1)
      if (end < 0) out[length++] = code
      else at = end
    }
    escapeEnd = length
  }
  return out.subarray(0, length)
}

/** Drops the blanks at the end of a line, before the carriage return if there is one. @returns the length without them */
function dropPadding(out: Buffer, from: number, length: number): number {
  const hasCr = length > from && out[length - 1] === CR
  const end = hasCr ? length - 1 : length
  let start = end
  while (start > from && end - start <= PADDING_MAX && isBlank(out[start - 1]!)) start--
  if (start === end || end - start > PADDING_MAX) return length
  if (hasCr) out[start++] = CR
  return start
}

export function isBlank(code: number): boolean {
  return code === 32 || code === 9
}

/** The position of the line break after a soft one, or -1. */
function softEnd(text: string, from: number): number {
  let at = from
  while ((text.charCodeAt(at) === 32 || text.charCodeAt(at) === 9) && at - from < PADDING_MAX) at++
  if (text.charCodeAt(at) === CR) at++
  return text.charCodeAt(at) === LF ? at : -1
}

function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  if (code >= 65 && code <= 70) return code - 55
  return code >= 97 && code <= 102 ? code - 87 : -1
}

/** Undoes a transfer encoding piece by piece. Never throws: malformed input is skipped. */
export interface TransferDecoder {
  push(bytes: Buffer): Buffer
  /** Returns the bytes still held back. */
  end(): Buffer
}
