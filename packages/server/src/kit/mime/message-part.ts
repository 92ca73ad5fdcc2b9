import { isAttachment } from './attachment.ts'
import { decodeBytes } from './charset.ts'
import { type ContentField, fileNameOf, readContentField } from './content-type.ts'
import { type Header, fieldText } from './header.ts'
import { cleanLine } from './text.ts'
import { readTransferEncoding } from './transfer-encoding.ts'
import { type TransferDecoder, transferDecoder } from './transfer-decoder.ts'

const FILE_NAME_LENGTH_MAX = 500
const CONTENT_ID_LENGTH_MAX = 1000
const PIECE_LENGTH = 64 * 1024
const CR = 13
const TYPE = /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/

/** A part of a message that is no text of its body. */
export interface ParsedAttachment {
  /** MIME part number, as IMAP counts (RFC 9051 section 6.4.5): `1.2`. */
  id: string
  filename: string | null
  contentType: string
  /** Octets, once decoded. */
  size: number
  isInline: boolean
  contentId: string | null
  /** Lower-cased transfer encoding. */
  encoding: string
  /** Where its encoded content lies in the message. */
  start: number
  end: number
}

/** What a part's header says of it. */
export interface PartTraits {
  type: ContentField
  disposition: ContentField
  encoding: string
  contentId: string | null
}

/** A part that is being read. */
export interface Leaf {
  id: string
  traits: PartTraits
  isRelated: boolean
  /** Of which half of the body it is; null: an attachment. */
  body: 'text' | 'html' | null
  decoder: TransferDecoder
  chunks: Buffer[]
  size: number
  start: number
}

export function readTraits(header: Header): PartTraits {
  const contentId = cleanLine(fieldText(header, 'content-id') ?? '', CONTENT_ID_LENGTH_MAX)
  return {
    type: readContentField(fieldText(header, 'content-type')),
    disposition: readContentField(fieldText(header, 'content-disposition')),
    encoding: readTransferEncoding(header),
    contentId: contentId.replace(/^</, '').replace(/>$/, '').trim() || null,
  }
}

export function openLeaf(
  id: string,
  traits: PartTraits,
  place: { parent: string | null; start: number },
): Leaf {
  return {
    id,
    traits,
    isRelated: place.parent === 'multipart/related',
    body: bodyHalf(traits, place.parent),
    decoder: transferDecoder(traits.encoding),
    chunks: [],
    size: 0,
    start: place.start,
  }
}

function bodyHalf({ type, disposition, contentId }: PartTraits, parent: string | null): Leaf['body'] {
  const hasFileName = fileNameOf(type, disposition) !== null
  const isFile = isAttachment({
    type: type.value,
    disposition: disposition.value,
    hasFileName,
    hasContentId: contentId !== null,
  })
  if (isFile || hasFileName) return null
  if (type.value === 'text/html') return 'html'
  // RFC 2046 section 5.1.5: what says nothing within a digest is a message.
  if (type.value === '' && parent === 'multipart/digest') return null
  // A multipart without a boundary has no parts to find; its text is all there is.
  const isPlain = ['', 'text', 'text/plain'].includes(type.value) || type.value.startsWith('multipart/')
  return isPlain ? 'text' : null
}

export function toAttachment(leaf: Leaf, end: number, parent: string | null): ParsedAttachment {
  const { type, disposition, encoding, contentId } = leaf.traits
  return {
    id: leaf.id,
    filename: cleanLine(fileNameOf(type, disposition) ?? '', FILE_NAME_LENGTH_MAX) || null,
    contentType: typeName(type.value, parent),
    size: leaf.size,
    isInline:
      disposition.value === 'inline' || (disposition.value === '' && contentId !== null && leaf.isRelated),
    contentId,
    encoding,
    start: leaf.start,
    end: Math.max(leaf.start, end),
  }
}

function typeName(value: string, parent: string | null): string {
  if (TYPE.test(value)) return value
  if (value === '' && parent === 'multipart/digest') return 'message/rfc822'
  return value === '' || value === 'text' ? 'text/plain' : 'application/octet-stream'
}

/** The text of a part of the body, with line feeds alone between its lines. */
export function toText(leaf: Leaf): string {
  const text = decodeBytes(Buffer.concat(leaf.chunks), leaf.traits.type.parameters.get('charset') ?? null)
  return withLineFeeds(text).toWellFormed()
}

/** Piece by piece: millions of matches in one text take hundreds of megabytes, and V8 ends the process over them. */
function withLineFeeds(text: string): string {
  const pieces: string[] = []
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = from + PIECE_LENGTH
    // No line end is cut in two.
    while (text.charCodeAt(to - 1) === CR) to++
    // Not replaceAll, which leaves a chain of all that it left.
    pieces.push(text.slice(from, to).split('\r\n').join('\n').split('\0').join(''))
  }
  return pieces.join('')
}
