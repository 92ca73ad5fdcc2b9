import { readContentField } from '../mime/content-type.ts'
import { type ExactText, readExactly } from '../mime/exact-charset.ts'
import { fieldText, readHeader } from '../mime/header.ts'
import { decodeQuotedPrintable, readTransferEncoding } from '../mime/transfer-encoding.ts'
import type { LineEnd } from './line-breaker.ts'
import { encodeQuotedPrintable } from './transfer.ts'
import { messageWalker, type WalkedPart } from './walk-message.ts'

/** The part of a message that is shown as HTML. All lines of the message end with CRLF. */
export interface HtmlPart {
  /** The start of its header and the end of its content, in bytes. */
  start: number
  end: number
  /** Whether it is the whole message, and its header that of the message. */
  isRoot: boolean
  /** Lines of its header, without their ends. */
  header: Buffer[]
  html: ExactText
}

/** A longer one, as it is encoded, is not read. */
const HTML_BYTES_MAX = 2 * 1024 * 1024
const LINE_END_BYTES = 2

interface Found {
  start: number
  end: number
  part: WalkedPart
  header: Buffer[]
  charset: string | null
  encoding: string
  body: Buffer[]
  bodyBytes: number
}

/**
 * The first HTML of a message that is no attachment. Null if there is none that can be changed: its charset is not
 * known, or something of the message is signed or encrypted.
 * @throws UnwalkableMessage
 */
export async function findHtmlPart(content: AsyncIterable<Buffer>): Promise<HtmlPart | null> {
  let offset = 0
  let hasSealed = false
  const state: { found: Found | null } = { found: null }
  const pass = (bytes: number, end: LineEnd) => (offset += bytes + (end === 'none' ? 0 : LINE_END_BYTES))
  const walker = messageWalker({
    header(lines, part) {
      const start = offset
      for (const line of lines) pass(line.length, 'crlf')
      hasSealed ||= part?.isSealed ?? false
      if (part && !part.isAttached) state.found ??= describe(start, lines, part)
    },
    body(part, line, end) {
      pass(line.length, end)
      const { found } = state
      if (!found || part !== found.part) return
      found.body.push(Buffer.from(line), ...(end === 'none' ? [] : [CRLF]))
      found.bodyBytes += line.length
      // The line break before a delimiter belongs to that.
      found.end = offset - (end === 'none' ? 0 : LINE_END_BYTES)
      if (found.bodyBytes > HTML_BYTES_MAX) found.body.length = 0
    },
    other: (line, end) => void pass(line.length, end),
    end: () => undefined,
  })
  for await (const bytes of content) walker.push(bytes)
  walker.end()
  const { found } = state
  if (!found || hasSealed || found.bodyBytes > HTML_BYTES_MAX || found.end === 0) return null
  const html = readExactly(decode(found), found.charset)
  const { start, end, header } = found
  return html && { start, end, header, html, isRoot: start === 0 }
}

const CRLF = Buffer.from('\r\n')

function describe(start: number, lines: readonly Buffer[], part: WalkedPart): Found | null {
  const text = `${lines.map(line => line.toString('latin1')).join('\n')}\n\n`
  const header = readHeader(text, 0, text.length)
  const type = readContentField(fieldText(header, 'content-type'))
  const disposition = readContentField(fieldText(header, 'content-disposition'))
  if (type.value !== 'text/html' || disposition.value === 'attachment') return null
  const charset = type.parameters.get('charset') ?? null
  const encoding = readTransferEncoding(header)
  return { start, end: 0, part, header: [...lines], charset, encoding, body: [], bodyBytes: 0 }
}

function decode({ body, encoding }: Found): Buffer {
  const all = Buffer.concat(body.at(-1) === CRLF ? body.slice(0, -1) : body)
  if (encoding === 'quoted-printable') return decodeQuotedPrintable(all.toString('latin1'))
  return encoding === 'base64' ? Buffer.from(all.toString('latin1'), 'base64') : all
}

const ENCODING_FIELD = /^content-transfer-encoding[ \t]*:/i
export const ENCODING_LINE = Buffer.from('Content-Transfer-Encoding: quoted-printable\r\n')

/** The part with another text, in its charset. Of the whole message only the content. */
export function writeHtmlPart({ isRoot, header, html }: HtmlPart, text: string): Buffer {
  const body = encodeQuotedPrintable(html.encode(text))
  if (isRoot) return body
  const lines = withoutField(header, ENCODING_FIELD).flatMap(line => [line, CRLF])
  return Buffer.concat([...lines, ENCODING_LINE, CRLF, body])
}

/** Lines of a header without a field, and without the lines that continue it. */
function withoutField(lines: readonly Buffer[], field: RegExp): Buffer[] {
  let isDropped = false
  return lines.filter(line => {
    const text = line.toString('latin1')
    if (!/^[ \t]/.test(text)) isDropped = field.test(text)
    return !isDropped
  })
}
