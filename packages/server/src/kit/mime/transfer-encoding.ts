/** Bytes of quoted-printable text (RFC 2045 section 6.7), given as latin1. Tolerates what is not well formed. */
export function decodeQuotedPrintable(text: string): Buffer {
  const out = Buffer.allocUnsafe(text.length)
  let length = 0
  let from = 0
  for (;;) {
    const at = text.indexOf('=', from)
    length += out.write(text.slice(from, at < 0 ? text.length : at), length, 'latin1')
    if (at < 0) break
    const byte = hexByte(text, at + 1)
    if (byte >= 0) {
      out[length++] = byte
      from = at + 3
    } else if (text.charCodeAt(at + 1) === 10) {
      from = at + 2
    } else if (text.charCodeAt(at + 1) === 13 && text.charCodeAt(at + 2) === 10) {
      from = at + 3
    } else {
      out[length++] = 0x3d
      from = at + 1
    }
  }
  return out.subarray(0, length)
}

function hexByte(text: string, at: number): number {
  const high = hexDigit(text.charCodeAt(at))
  const low = hexDigit(text.charCodeAt(at + 1))
  return high < 0 || low < 0 ? -1 : high * 16 + low
}

function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  if (code >= 65 && code <= 70) return code - 55
  return code >= 97 && code <= 102 ? code - 87 : -1
}
