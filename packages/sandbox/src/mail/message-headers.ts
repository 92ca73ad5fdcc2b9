import { addressesIn, headerOf, messageIdsIn, parseHeaders, type Header } from './headers.ts'
import { headerEnd } from './mime.ts'

/** The headers of a message. */
export const headersOf = (raw: Buffer): Header[] =>
  parseHeaders(raw.subarray(0, headerEnd(raw, 0, raw.length).headersEnd))

/** The Message-IDs that a message answers: In-Reply-To, then References. */
export const referencesOf = (headers: Header[]): string[] => [
  ...messageIdsIn(headerOf(headers, 'In-Reply-To')),
  ...messageIdsIn(headerOf(headers, 'References')),
]

/** Everyone whom the headers name as a recipient. */
export const recipientsIn = (headers: Header[]): string[] => [
  ...new Set(
    ['To', 'Cc', 'Bcc'].flatMap(name =>
      headers.filter(h => h.name.toLowerCase() === name.toLowerCase()).flatMap(h => addressesIn(h.value)),
    ),
  ),
]

/** A time as in a Date header (RFC 5322 section 3.3), in UTC. */
export const dateText = (at: number): string => new Date(at).toUTCString().replace('GMT', '+0000')

export interface HeaderChanges {
  /** Names in lower case. */
  remove: string[]
  /** Whole lines, put first. */
  add: string[]
}

/** The message with headers removed and added, and the rest byte for byte. */
export function withHeaders(raw: Buffer, { remove, add }: HeaderChanges): Buffer {
  const { headersEnd } = headerEnd(raw, 0, raw.length)
  const fields = raw
    .subarray(0, headersEnd)
    .toString('latin1')
    .split(/(?<=\n)(?![ \t])/)
  const kept = fields.filter(
    field => !remove.includes(field.slice(0, field.indexOf(':')).trim().toLowerCase()),
  )
  const lines = add.map(line => Buffer.from(`${line}\r\n`))
  return Buffer.concat([...lines, Buffer.from(kept.join(''), 'latin1'), raw.subarray(headersEnd)])
}
