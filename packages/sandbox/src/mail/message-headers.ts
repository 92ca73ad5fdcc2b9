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
