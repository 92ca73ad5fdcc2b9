import { decodeBytes } from './charset.ts'
import { type ContentField, fileNameOf, readContentField } from './content-type.ts'
import { type Header, fieldText } from './header.ts'
import { bodyHalfOf, countsAsAttachment, isInline, type PartPlace, type PartTraits } from './part-role.ts'
import { cleanLine } from './text.ts'
import { readTransferEncoding } from './transfer-encoding.ts'
import { transferDecoder } from './transfer-decoder.ts'
import { type TransferDecoder } from './transfer-encoding.ts'

const FILE_NAME_LENGTH_MAX = 500
const CONTENT_ID_LENGTH_MAX = 1000
const PIECE_LENGTH = 64 * 1024
const CR = 13
const TYPE = /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/

/** A part of a message that is not a text of its body. */
export interface ParsedAttachment {
  /** MIME part number, as IMAP counts (RFC 9051 section 6.4.5): `1.2`. */
  id: string
  filename: string | null
  contentType: string
  /** Bytes, decoded. */
  size: number
  isInline: boolean
  contentId: string | null
  /** Lower-cased transfer encoding. */
  encoding: string
  /** The position of its encoded content in the message. */
  start: number
  end: number
}

/** The properties that a part's header declares. */
export interface PartFields {
  type: ContentField
  disposition: ContentField
  encoding: string
  contentId: string | null
}

/** A part that is being read. */
export interface Leaf {
  id: string
  fields: PartFields
  traits: PartTraits
  place: PartPlace
  /** The half of the body that it belongs to; null for an attachment. */
  body: 'text' | 'html' | null
  decoder: TransferDecoder
  chunks: Buffer[]
  size: number
  start: number
}

export function readPartFields(header: Header): PartFields {
  return {
    type: readContentField(fieldText(header, 'content-type')),
    disposition: readContentField(fieldText(header, 'content-disposition')),
    encoding: readTransferEncoding(header),
    contentId: readContentId(header),
  }
}

export function readContentId(header: Header): string | null {
  const contentId = cleanLine(fieldText(header, 'content-id') ?? '', CONTENT_ID_LENGTH_MAX)
  return contentId.replace(/^</, '').replace(/>$/, '').trim() || null
}

export function openLeaf(id: string, fields: PartFields, place: PartPlace, start: number): Leaf {
  const traits: PartTraits = {
    type: fields.type.value,
    disposition: fields.disposition.value,
    hasFileName: fileNameOf(fields.type, fields.disposition) !== null,
    hasContentId: fields.contentId !== null,
  }
  return {
    id,
    fields,
    traits,
    place,
    body: bodyHalfOf(traits, place),
    decoder: transferDecoder(fields.encoding),
    chunks: [],
    size: 0,
    start,
  }
}

export function toAttachment(leaf: Leaf, end: number): ParsedAttachment {
  const { type, disposition, encoding, contentId } = leaf.fields
  return {
    id: leaf.id,
    filename: cleanLine(fileNameOf(type, disposition) ?? '', FILE_NAME_LENGTH_MAX) || null,
    contentType: typeName(type.value, leaf.place.parent),
    size: leaf.size,
    isInline: isInline(leaf.traits, leaf.place),
    contentId,
    encoding,
    start: leaf.start,
    end: Math.max(leaf.start, end),
  }
}

/** Whether an attachment counts for `hasAttachments`. */
export function isCounted(leaf: Leaf): boolean {
  return countsAsAttachment(leaf.traits, leaf.place)
}

function typeName(value: string, parent: string | null): string {
  if (TYPE.test(value)) return value
  if (value === '' && parent === 'multipart/digest') return 'message/rfc822'
  return value === '' || value === 'text' ? 'text/plain' : 'application/octet-stream'
}

/** The text of a part of the body, with only line feeds between its lines. */
export function toText(leaf: Leaf): string {
  const text = decodeBytes(Buffer.concat(leaf.chunks), leaf.fields.type.parameters.get('charset') ?? null)
  return withLineFeeds(text).toWellFormed()
}

/** Works piece by piece: millions of matches in one text take hundreds of megabytes, at which V8 ends the process. */
function withLineFeeds(text: string): string {
  const pieces: string[] = []
  for (let from = 0, to = 0; from < text.length; from = to) {
    to = from + PIECE_LENGTH
    // Never cuts between the two characters of a line break.
    while (text.charCodeAt(to - 1) === CR) to++
    // Not replaceAll, which keeps a chain of all pieces.
    pieces.push(text.slice(from, to).split('\r\n').join('\n').split('\0').join(''))
  }
  return pieces.join('')
}
