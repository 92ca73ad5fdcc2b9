import { fieldText, type Header } from './header.ts'

/** The lower-cased transfer encoding that a header names, without the comments, quotes and second words of some. */
export function readTransferEncoding(header: Header): string {
  return /[^\s;("]+/.exec((fieldText(header, 'content-transfer-encoding') ?? '').toLowerCase())?.[0] ?? ''
}

/** Blanks that may stand between the mark of a soft line end and the line end (RFC 2045 section 6.7, rule 3). */
export const PADDING_MAX = 76

/** Bytes of quoted-printable text (RFC 2045 section 6.7), given as latin1. Tolerates what is not well formed. */
export function decodeQuotedPrintable(text: string): Buffer {
  const out = Buffer.allocUnsafe(text.length)
  let length = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code !== 0x3d) {
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
  }
  return out.subarray(0, length)
}

/** Where the line end lies that a soft one comes to, or -1. */
function softEnd(text: string, from: number): number {
  let at = from
  while ((text.charCodeAt(at) === 32 || text.charCodeAt(at) === 9) && at - from < PADDING_MAX) at++
  if (text.charCodeAt(at) === 13) at++
  return text.charCodeAt(at) === 10 ? at : -1
}

function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  if (code >= 65 && code <= 70) return code - 55
  return code >= 97 && code <= 102 ? code - 87 : -1
}
