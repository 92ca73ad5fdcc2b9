import { randomBytes } from 'node:crypto'
import type { Steps } from '../sliced-work.ts'
import { contentField } from './fields.ts'
import { base64Length, encodeBase64, encodeText } from './transfer.ts'

/* The MIME structure of a message that is written (RFC 2045, RFC 2046). */

/** A piece of a message: bytes, or bytes that are read when they are needed. */
export type Segment = Buffer | StreamedSegment

export interface StreamedSegment {
  /** null: not known. */
  byteLength: number | null
  open(): AsyncIterable<Buffer>
}

/** A part, with its header, which ends with the empty line; nothing follows the last line of its body. */
export interface Entity {
  type: string
  /** Whether it has bytes beyond ASCII. */
  is8Bit: boolean
  segments: Segment[]
  /**
   * Traits of the file that the part carries in base64, and the file's decoded length; null: not known. The segments are
   * then the part's header and its body. Absent if the part is no such file.
   */
  file?: FileTraits & { byteLength: number | null }
}

export type TextType = 'text/plain' | 'text/html' | `text/calendar; method=${string}`

/** @param full the type with its parameters but the charset */
export function* textEntity(full: TextType, text: string): Steps<Entity> {
  const { encoding, body } = yield* encodeText(text)
  const [type = full] = full.split(';')
  const header =
    contentField('Content-Type', `${full}; charset=utf-8`, {}) +
    `Content-Transfer-Encoding: ${encoding}\r\n\r\n`
  return { type, is8Bit: false, segments: [Buffer.from(header, 'latin1'), body] }
}

export interface FileTraits {
  /** `type/subtype`. */
  contentType: string
  filename: string | null
  contentId: string | null
  isInline: boolean
}

function fileHeader({ contentType, filename, contentId, isInline }: FileTraits, encoding: string): Buffer {
  return Buffer.from(
    contentField('Content-Type', contentType, {}) +
      `Content-Transfer-Encoding: ${encoding}\r\n` +
      contentField('Content-Disposition', isInline ? 'inline' : 'attachment', { filename }) +
      (contentId === null ? '' : `Content-ID: <${contentId}>\r\n`) +
      '\r\n',
    'latin1',
  )
}

/** A file in base64. @param byteLength decoded; null: not known */
export function fileEntity(
  traits: FileTraits,
  byteLength: number | null,
  open: () => AsyncIterable<Uint8Array>,
): Entity {
  const body: StreamedSegment = {
    byteLength: byteLength === null ? null : base64Length(byteLength),
    open: () => encodeBase64(open()),
  }
  const { contentType, filename, contentId, isInline } = traits
  return {
    type: contentType,
    is8Bit: false,
    segments: [fileHeader(traits, 'base64'), body],
    file: { contentType, filename, contentId, isInline, byteLength },
  }
}

/** A message within the message, whose lines are fit for sending as they are. */
export function messageEntity(traits: FileTraits, is8Bit: boolean, body: StreamedSegment): Entity {
  return { type: traits.contentType, is8Bit, segments: [fileHeader(traits, is8Bit ? '8bit' : '7bit'), body] }
}

export function multipartEntity(
  subtype: 'alternative',
  [first, ...others]: readonly [Entity, ...Entity[]],
): Entity {
  const { segments, tail, ...traits } = encloseEntity(subtype, { ...first, tail: [] }, others, newBoundary())
  return { ...traits, segments: [...segments, ...tail] }
}

/** An entity in two pieces: what stands before and in its first text, and what follows. */
export interface OpenEntity extends Entity {
  tail: Segment[]
}

/** Encloses an entity and those that follow it in a multipart. Their bytes, and the boundary's, end its tail. */
export function encloseEntity(
  subtype: 'alternative' | 'related' | 'mixed',
  first: OpenEntity,
  others: readonly Entity[],
  boundary: string,
): OpenEntity {
  const type = `multipart/${subtype}`
  // RFC 2387 section 3.1 requires the type of the first part.
  const root = subtype === 'related' ? `\r\n type="${first.type}";` : ''
  const is8Bit = first.is8Bit || others.some(other => other.is8Bit)
  // RFC 2045 section 6.4: a part without an encoding of its own claims 7bit for all that it encloses.
  const encoding = is8Bit ? 'Content-Transfer-Encoding: 8bit\r\n' : ''
  const header = Buffer.from(
    `Content-Type: ${type};${root}\r\n boundary="${boundary}"\r\n${encoding}\r\n--${boundary}\r\n`,
  )
  const separator = Buffer.from(`\r\n--${boundary}\r\n`)
  const rest = others.flatMap(({ segments }) => [separator, ...segments])
  return {
    type,
    is8Bit,
    segments: [header, ...first.segments],
    tail: [...first.tail, ...rest, Buffer.from(`\r\n--${boundary}--`)],
  }
}

/** `=_` is neither in quoted-printable nor in base64 (RFC 2045 section 6.7), and nobody can guess the rest. */
export function newBoundary(): string {
  return `=_${randomBytes(16).toString('hex')}`
}

/** null if a piece's length is not known. */
export function segmentsLength(segments: readonly Segment[]): number | null {
  let length: number | null = 0
  for (const segment of segments) {
    const bytes: number | null = Buffer.isBuffer(segment) ? segment.length : segment.byteLength
    length = length === null || bytes === null ? null : length + bytes
  }
  return length
}

export async function* readSegments(segments: readonly Segment[]): AsyncGenerator<Buffer> {
  for (const segment of segments) {
    if (Buffer.isBuffer(segment)) yield segment
    else yield* segment.open()
  }
}
