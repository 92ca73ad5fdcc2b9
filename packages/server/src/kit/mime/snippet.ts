import { decodeBytes } from './charset.ts'
import { htmlText } from './html-text.ts'
import type { TextPart } from './parts.ts'
import { collapseText, cutText } from './text.ts'
import { transferDecoder } from './transfer-decoder.ts'
import { decodeQuotedPrintable } from './transfer-encoding.ts'

export const SNIPPET_LENGTH = 200
const PLAIN = new Set(['', '7bit', '8bit', 'binary'])
/**
 * Number of encoded bytes that usually contain a whole snippet. If they do not, four times as many are decoded, and so
 * on.
 */
const FIRST_GLANCE = { plain: 320, html: 2048 }

/** The beginning of a message. */
interface Source {
  bytes: Buffer
  /** The latin1 of `bytes`. */
  text: string
  /** Whether the message may continue. */
  isCut: boolean
}

/** The first characters of the first part that shows any text, on one line. */
export function readSnippet(source: Source, parts: readonly TextPart[]): string {
  for (const part of parts) {
    const snippet = readText(source, part)
    // The given bytes may end in the middle of a character.
    const whole = isCutAt(source, part.end) ? snippet.replace(/\ufffd$/, '') : snippet
    if (whole) return cutText(whole, SNIPPET_LENGTH).trimEnd()
  }
  return ''
}

function readText(source: Source, part: TextPart): string {
  for (let length = part.isHtml ? FIRST_GLANCE.html : FIRST_GLANCE.plain; ; length *= 4) {
    const end = Math.min(part.end, part.start + length)
    const shown = show(decodePart(source, part, end), part)
    // One more than needed, since the last may be half a character.
    if (shown.length > SNIPPET_LENGTH || end === part.end) return shown
  }
}

function show(decoded: string, { isHtml }: TextPart): string {
  return isHtml ? htmlText(decoded, SNIPPET_LENGTH + 1) : collapseText(decoded)
}

function decodePart(source: Source, part: TextPart, end: number): string {
  return decodeBytes(decodeTransfer(source, part, end), part.charset, end < part.end || isCutAt(source, end))
}

function isCutAt({ text, isCut }: Source, end: number): boolean {
  return isCut && end === text.length
}

function decodeTransfer({ bytes, text }: Source, { encoding, start }: TextPart, end: number): Buffer {
  if (encoding === 'base64') return Buffer.from(text.slice(start, end), 'base64')
  if (PLAIN.has(encoding)) return bytes.subarray(start, end)
  if (encoding === 'quoted-printable') return decodeQuotedPrintable(text.slice(start, end))
  const decoder = transferDecoder(encoding)
  return Buffer.concat([decoder.push(bytes.subarray(start, end)), decoder.end()])
}
