/* Quoted-printable in the value of a content line (RFC 2045 section 6.7), for files of the nineties. */

const HEX = '0123456789ABCDEF'
const PRINTABLE = /^[!-<>-~]$/

/** Decodes bytes that are given, and returned, as latin1. A `=` without two digits stands for itself. */
export function decodeQuotedPrintable(raw: string): string {
  return raw.replaceAll(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** Encodes a text as UTF-8; one element for each byte of the text. Line breaks become CRLF. */
export function encodeQuotedPrintable(text: string): string[] {
  const bytes = Buffer.from(text.replaceAll(/\r\n|\r|\n/g, '\r\n'), 'utf8')
  return Array.from(bytes, byte => {
    const character = String.fromCharCode(byte)
    return PRINTABLE.test(character) ? character : `=${HEX[byte >> 4]}${HEX[byte & 15]}`
  })
}
