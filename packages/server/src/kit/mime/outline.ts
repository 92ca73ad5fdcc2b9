import { decodeBytes, decodeUnlabelled } from './charset.ts'
import { decodeWords } from './encoded-words.ts'
import { readHeader } from './header.ts'
import { htmlToText } from './html-to-text.ts'
import { type FoundPart, walkParts } from './parts.ts'
import { cutText } from './text.ts'
import { transferDecoder } from './transfer-decoder.ts'
import { CALENDAR_TYPE } from './part-role.ts'
import { readTransferEncoding } from './transfer-encoding.ts'

/* Parts of a message that a program wrote: its fields, its text, and the parts of a report (RFC 6522). */

const FIELDS_MAX = 1_000
const NAME_LENGTH_MAX = 76
const VALUE_LENGTH_MAX = 64 * 1024
const TEXTS_MAX = 20
const TEXT_LENGTH_MAX = 64 * 1024
/** Encoded bytes of one text that are read. */
const TEXT_BYTES_MAX = 256 * 1024
const REPORTS_MAX = 20
const REPORT_LENGTH_MAX = 256 * 1024
/** The header of a message within the message is enough. */
const ENCLOSED_LENGTH_MAX = 64 * 1024
/** Encoded bytes of a calendar object that are read. */
const CALENDAR_BYTES_MAX = 1024 * 1024

/** A header field: its name in lower case, its value unfolded and decoded. */
export type OutlineField = readonly [name: string, value: string]

export type ReportType = 'delivery-status' | 'feedback-report' | 'message'

export interface ReportPart {
  /** `message`: a message within the message, or its header. */
  type: ReportType
  text: string
}

export interface MessageOutline {
  /** At most 1,000, in their order. */
  fields: OutlineField[]
  /** Type of the whole message, in lower case. */
  type: string
  /** The text, or that of the HTML if there is none; at most 64 Ki characters. */
  text: string
  reports: ReportPart[]
  /** The calendar object of an invitation (RFC 6047 section 2.4), with LF at the ends of its lines; null if it has none. */
  calendar: string | null
}

const REPORT_TYPES = new Map<string, ReportType>([
  ['message/delivery-status', 'delivery-status'],
  ['message/global-delivery-status', 'delivery-status'],
  ['message/feedback-report', 'feedback-report'],
  ['message/rfc822', 'message'],
  ['message/global', 'message'],
  ['message/global-headers', 'message'],
  ['text/rfc822-headers', 'message'],
  ['text/rfc822-header', 'message'],
  ['text/rfc822', 'message'],
])

/** Reads the outline of a message, or of its beginning. Linear, and never throws. */
export function readOutline(bytes: Buffer): MessageOutline {
  const source = bytes.toString('latin1')
  const header = readHeader(source, 0, source.length)
  const found: FoundPart[] = []
  walkParts(source, header, false, part => void found.push(part))
  const texts = found.filter(part => part.half !== null).slice(0, TEXTS_MAX)
  const plain = texts.filter(part => part.half === 'text')
  const html = texts.filter(part => part.half === 'html')
  const fields = readHeaderFields(source.slice(0, header.end))
  const contentType = fields.find(([name]) => name === 'content-type')?.[1] ?? ''
  return {
    fields,
    type: /^[^;\s]*/.exec(contentType)?.[0].toLowerCase() ?? '',
    text: joinTexts(bytes, plain, text => text) || joinTexts(bytes, html, htmlToText),
    reports: found
      .flatMap(part => {
        const type = REPORT_TYPES.get(part.type.value)
        return type ? [{ part, type }] : []
      })
      .slice(0, REPORTS_MAX)
      .map(({ part, type }) => ({
        type,
        text: readText(bytes, part, type === 'message' ? ENCLOSED_LENGTH_MAX : REPORT_LENGTH_MAX),
      })),
    calendar: readCalendar(bytes, found),
  }
}

/** Only a part whose method is declared is an invitation. Calendar files that somebody attached usually have none. */
function readCalendar(bytes: Buffer, found: readonly FoundPart[]): string | null {
  const part = found.find(
    ({ traits, type }) => traits.type === CALENDAR_TYPE && type.parameters.has('method'),
  )
  return part ? readText(bytes, part, CALENDAR_BYTES_MAX) : null
}

/** The texts of the body, from the first on. */
function joinTexts(bytes: Buffer, parts: readonly FoundPart[], show: (text: string) => string): string {
  let joined = ''
  for (const part of parts) {
    if (joined.length >= TEXT_LENGTH_MAX) break
    joined += `${show(readText(bytes, part, TEXT_BYTES_MAX))}\n`
  }
  return cutText(joined, TEXT_LENGTH_MAX).trim()
}

function readText(bytes: Buffer, { header, type, start, end }: FoundPart, bytesMax: number): string {
  const decoder = transferDecoder(readTransferEncoding(header))
  const encoded = bytes.subarray(start, Math.min(end, start + bytesMax))
  const decoded = Buffer.concat([decoder.push(encoded), decoder.end()])
  return decodeBytes(decoded, type.parameters.get('charset') ?? null)
    .replaceAll('\r\n', '\n')
    .replaceAll('\0', '')
    .toWellFormed()
}

/** The fields of the header of a message, given as latin1. */
function readHeaderFields(source: string): OutlineField[] {
  return readFields(source).map(([name, value]) => [
    name,
    // RFC 6532 allows UTF-8.
    showValue(/[\u0080-\u00ff]/.test(value) ? decodeUnlabelled(Buffer.from(value, 'latin1')) : value),
  ])
}

/** The fields of a header within a part, such as that of a returned message, with encoded words decoded. */
export function readEnclosedFields(text: string): OutlineField[] {
  return readFields(text).map(([name, value]) => [name, showValue(value)])
}

/**
 * The fields of a header, or of a group of a report (RFC 3464 section 2.1.2), up to the first empty line. Linear, and
 * never throws.
 */
export function readFields(source: string): OutlineField[] {
  const fields: Array<[name: string, value: string]> = []
  for (let at = 0; at < source.length && fields.length <= FIELDS_MAX;) {
    const newline = source.indexOf('\n', at)
    const end = newline < 0 ? source.length : newline
    const line = source.slice(at, Math.min(end, at + VALUE_LENGTH_MAX)).replace(/\r$/, '')
    at = end + 1
    if (line === '') break
    const last = fields.at(-1)
    if (line.startsWith(' ') || line.startsWith('\t')) {
      if (last && last[1].length < VALUE_LENGTH_MAX) last[1] += line
      continue
    }
    const colon = line.indexOf(':')
    if (colon > 0 && colon <= NAME_LENGTH_MAX)
      fields.push([line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1)])
  }
  return fields.slice(0, FIELDS_MAX).map(([name, value]) => [name, value.trim()])
}

function showValue(value: string): string {
  return decodeWords(value).replaceAll('\0', '').toWellFormed()
}
