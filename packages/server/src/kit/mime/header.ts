import { decodeUnlabelled } from './charset.ts'

/** Limits for reading one message: 256 KB of header, and 64 KB of one field. */
export const HEADER_BYTES_MAX = 256 * 1024
const FIELD_LENGTH_MAX = 64 * 1024
const NAME_LENGTH_MAX = 32
const DASH = 45

const NAMES = [
  'from',
  'sender',
  'to',
  'cc',
  'bcc',
  'reply-to',
  'subject',
  'date',
  'message-id',
  'references',
  'in-reply-to',
  'importance',
  'priority',
  'x-priority',
  'x-msmail-priority',
  'content-type',
  'content-transfer-encoding',
  'content-disposition',
  'content-id',
  'x-waxwing-draft',
  'auto-submitted',
  'return-path',
  'x-failed-recipients',
  'x-ms-exchange-message-is-ndr',
] as const
export type FieldName = (typeof NAMES)[number]

const NAME_SET: ReadonlySet<string> = new Set(NAMES)
/** Initial letters of known fields: most header lines can be skipped by their first letter. */
const INITIALS: ReadonlySet<number> = new Set(NAMES.map(name => name.charCodeAt(0)))
/**
 * Fields of which every occurrence counts. Of all others only the first does (RFC 5322 section 3.6 allows one of each).
 */
const REPEATED: ReadonlySet<string> = new Set(['to', 'cc', 'bcc'])

export interface Header {
  /** Raw values by name, in latin1 and still folded; repeated address fields are joined by commas. */
  fields: Map<FieldName, string>
  /** The offset at which the body begins. */
  end: number
  /** Whether the end of the header was seen. */
  isComplete: boolean
}

/**
 * Reads the header of a message or part that begins at `start` of a latin1 text. Linear, and never throws.
 * @param isDelimiter whether the line at a position, which begins with a dash, cuts the header off
 */
export function readHeader(
  text: string,
  start: number,
  limit: number,
  isDelimiter?: (position: number) => boolean,
): Header {
  const fields = new Map<FieldName, string>()
  const stop = Math.min(limit, start + HEADER_BYTES_MAX)
  let name: FieldName | null = null
  let valueStart = 0
  let position = start
  while (position < stop) {
    const newline = text.indexOf('\n', position)
    const lineEnd = newline < 0 || newline >= stop ? stop : newline
    const first = text.charCodeAt(position)
    if (first !== 32 && first !== 9) {
      if (name) addField(fields, name, text.slice(valueStart, position))
      name = null
      if (first === DASH && isDelimiter?.(position)) return { fields, end: position, isComplete: true }
      const isEmpty = lineEnd === position || (first === 13 && lineEnd === position + 1)
      if (isEmpty && lineEnd < stop) return { fields, end: lineEnd + 1, isComplete: true }
      const colon = INITIALS.has(first | 0x20) ? findColon(text, position, lineEnd) : -1
      if (colon > 0) {
        const found = text.slice(position, colon).trimEnd().toLowerCase()
        if (isFieldName(found)) {
          name = found
          valueStart = colon + 1
        }
      }
    }
    position = lineEnd + 1
  }
  if (name) addField(fields, name, text.slice(valueStart, stop))
  return { fields, end: stop, isComplete: false }
}

function isFieldName(name: string): name is FieldName {
  return NAME_SET.has(name)
}

function findColon(text: string, from: number, lineEnd: number): number {
  const stop = Math.min(lineEnd, from + NAME_LENGTH_MAX)
  for (let at = from; at < stop; at++) if (text.charCodeAt(at) === 58) return at
  return -1
}

function addField(fields: Map<FieldName, string>, name: FieldName, value: string): void {
  const earlier = fields.get(name)
  if (earlier === undefined) fields.set(name, value.slice(0, FIELD_LENGTH_MAX))
  else if (REPEATED.has(name) && earlier.length < FIELD_LENGTH_MAX) {
    fields.set(name, `${earlier},${value}`.slice(0, FIELD_LENGTH_MAX))
  }
}

/** A field's value, unfolded and in Unicode; encoded words are left as they are. */
export function fieldText(header: Header, name: FieldName): string | null {
  const raw = header.fields.get(name)
  if (raw === undefined) return null
  const trimmed = raw.trim()
  // RFC 5322 section 2.2.3: unfolding removes the line end and keeps the white space after it.
  const value = trimmed.includes('\n') ? trimmed.replaceAll(/\r?\n/g, '') : trimmed
  return /[\u0080-\u00ff]/.test(value) ? decodeUnlabelled(Buffer.from(value, 'latin1')) : value
}
