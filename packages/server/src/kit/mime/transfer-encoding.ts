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
    } else if (next === 10) at += 1
    else if (next === 13 && text.charCodeAt(at + 2) === 10) at += 2
    else out[length++] = code
  }
  return out.subarray(0, length)
}

function hexDigit(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  if (code >= 65 && code <= 70) return code - 55
  return code >= 97 && code <= 102 ? code - 87 : -1
}
