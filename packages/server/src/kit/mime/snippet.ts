import { decodeBytes } from './charset.ts'
import { htmlText } from './html-text.ts'
import type { TextPart } from './parts.ts'
import { collapseText, cutText } from './text.ts'
import { decodeQuotedPrintable } from './transfer-encoding.ts'

export const SNIPPET_LENGTH = 200
/** Encoded octets of plain text that nearly always hold a whole snippet; more is decoded only where they do not. */
const FIRST_GLANCE = 640

/** The first characters of the first part that shows any text, on one line. `text` is the latin1 of `bytes`. */
export function readSnippet(bytes: Buffer, text: string, parts: readonly TextPart[]): string {
  for (const part of parts) {
    const snippet = part.isHtml
      ? htmlText(decodePart(bytes, text, part, part.end), SNIPPET_LENGTH)
      : plainText(bytes, text, part)
    // The end of what is at hand may cut a character in two.
    if (snippet)
      return cutText(
        part.end === text.length ? snippet.replace(/\ufffd$/, '') : snippet,
        SNIPPET_LENGTH,
      ).trimEnd()
  }
  return ''
}

function plainText(bytes: Buffer, text: string, part: TextPart): string {
  const glance = Math.min(part.end, part.start + FIRST_GLANCE)
  const first = collapseText(decodePart(bytes, text, part, glance))
  if (first.length > SNIPPET_LENGTH || glance === part.end) return first
  return collapseText(decodePart(bytes, text, part, part.end))
}

function decodePart(bytes: Buffer, text: string, part: TextPart, end: number): string {
  const content =
    part.encoding === 'base64'
      ? Buffer.from(text.slice(part.start, end), 'base64')
      : part.encoding === 'quoted-printable'
        ? decodeQuotedPrintable(text.slice(part.start, end))
        : bytes.subarray(part.start, end)
  return decodeBytes(content, part.charset)
}
