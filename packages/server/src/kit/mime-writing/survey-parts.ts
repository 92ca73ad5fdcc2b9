import { fileNameOf, readContentField } from '../mime/content-type.ts'
import { fieldText, type Header, readHeader } from '../mime/header.ts'
import { cleanLine } from '../mime/text.ts'
import { readTransferEncoding, type TransferDecoder } from '../mime/transfer-encoding.ts'
import { transferDecoder } from '../mime/transfer-decoder.ts'
import type { FileTraits } from './entity.ts'
import { slices } from './refit.ts'
import { messageWalker, type WalkedPart } from './walk-message.ts'

/* Finds the files of a message that can be taken out of it and handed over beside it. */

/**
 * A file within a message. Without the bytes from `start` to `end`, which begin with the line break before its
 * delimiter, the rest is a message with one part less.
 */
export interface SeparablePart extends FileTraits {
  start: number
  /** Where its encoded content begins. */
  bodyStart: number
  end: number
  encoding: 'base64' | 'identity'
  /** Decoded. */
  byteLength: number
}

/** Files of one message that are noted. Further ones stay in the message. */
const PARTS_MAX = 500
const FILE_NAME_LENGTH_MAX = 500
/** Taking a smaller file out of a message makes it hardly smaller. */
const PART_BYTES_MIN = 1024

/** Multiparts that say only how their parts are shown. Others, such as a report, are one thing with their parts. */
const LOOSE = new Set(['multipart/mixed', 'multipart/related', 'multipart/alternative'])
/** Encodings that change nothing. */
const IDENTITY = new Set(['', '7bit', '8bit', 'binary'])
/** Parameters of a type that name the file, or mean something only to the program that wrote it. */
const NAMING = /^(?:name(?:\*.*)?|charset|x-.*)$/
/** Its address would be lost (RFC 2557 section 4). */
const LOCATED = /^content-(?:location|base)[ \t]*:/i

/**
 * Finds the separable files of a message: parts in base64 or as they are that stand directly in a multipart which is
 * neither signed nor a report, and are not its first part, which the others go with.
 * @param partBytesMin encoded
 * @throws UnwalkableMessage
 */
export async function surveyParts(
  content: AsyncIterable<Uint8Array>,
  partBytesMin = PART_BYTES_MIN,
): Promise<SeparablePart[]> {
  const parts: SeparablePart[] = []
  let reading: PartReading | null = null
  let delimiterAt = 0
  const walker = messageWalker({
    header(lines, part) {
      const isKept = part !== null && parts.length < PARTS_MAX && isLoose(part)
      reading = isKept ? newReading(lines, delimiterAt) : null
    },
    body(_part, line) {
      if (reading?.decoder) reading.byteLength += reading.decoder.push(line).length
    },
    other(line, end) {
      const { start, breakBytes } = walker.position
      delimiterAt = start - breakBytes
      if (reading === null) return
      if (reading.bodyStart === null && line.length === 0) {
        // The empty line that ends the header.
        reading.bodyStart = start + (end === 'crlf' ? 2 : 1)
        return
      }
      const part = endReading(reading, delimiterAt)
      if (part && part.end - part.bodyStart >= partBytesMin) parts.push(part)
      reading = null
    },
    end: () => undefined,
  })
  for await (const bytes of slices(content)) walker.push(bytes)
  walker.end()
  return parts
}

function isLoose({ within, isFirst, isSealed, isAttached }: WalkedPart): boolean {
  return (
    within.length > 0 &&
    !isFirst &&
    !isSealed &&
    !isAttached &&
    within.at(-1) !== 'multipart/alternative' &&
    within.every(type => LOOSE.has(type))
  )
}

/** A part that is being read. */
interface PartReading {
  traits: FileTraits
  encoding: SeparablePart['encoding']
  start: number
  /** Null within its header. */
  bodyStart: number | null
  /** Null if the bytes are as they are. */
  decoder: TransferDecoder | null
  byteLength: number
}

function newReading(lines: readonly Buffer[], start: number): PartReading | null {
  const text = `${lines.map(line => line.toString('latin1')).join('\n')}\n\n`
  const header = readHeader(text, 0, text.length)
  const traits = traitsOf(header)
  const encoding = readTransferEncoding(header)
  const isKnown = encoding === 'base64' || IDENTITY.has(encoding)
  if (traits === null || !isKnown || lines.some(line => LOCATED.test(line.toString('latin1', 0, 32))))
    return null
  const decoder = encoding === 'base64' ? transferDecoder(encoding) : null
  return { traits, encoding: decoder ? 'base64' : 'identity', start, bodyStart: null, decoder, byteLength: 0 }
}

/** Null if the part is not a file, or its type has parameters that are lost beside the message. */
function traitsOf(header: Header): FileTraits | null {
  const type = readContentField(fieldText(header, 'content-type'))
  const disposition = readContentField(fieldText(header, 'content-disposition'))
  const isText = type.value === '' || type.value.startsWith('text/')
  const contentId = /^<?([!-;=?-~]{1,255})>?$/.exec(fieldText(header, 'content-id') ?? '')?.[1] ?? null
  // Without a mark of a file it may be a part of the text.
  const isShown = disposition.value === 'inline' && contentId !== null
  const isFile = !isText || isShown || disposition.value === 'attachment'
  if (/^(?:multipart|message)\//.test(type.value) || !isFile) return null
  if (![...type.parameters.keys()].every(name => NAMING.test(name))) return null
  const charset = isText ? type.parameters.get('charset') : undefined
  const named = type.value || 'text/plain'
  return {
    contentType: charset && /^[\w.:-]{1,40}$/.test(charset) ? `${named}; charset=${charset}` : named,
    filename: cleanLine(fileNameOf(type, disposition) ?? '', FILE_NAME_LENGTH_MAX) || null,
    contentId,
    isInline: disposition.value === '' ? contentId !== null : disposition.value === 'inline',
  }
}

function endReading(reading: PartReading, end: number): SeparablePart | null {
  const { traits, encoding, start, bodyStart, decoder } = reading
  if (bodyStart === null || end < bodyStart) return null
  const byteLength = decoder ? reading.byteLength + decoder.end().length : end - bodyStart
  return { ...traits, start, bodyStart, end, encoding, byteLength }
}
