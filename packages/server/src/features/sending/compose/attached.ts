import { setImmediate as nextTurn } from 'node:timers/promises'
import type { FileTraits } from '../../../kit/mime-writing/entity.ts'
import { cleanLine } from '../../../kit/mime/text.ts'
import { decodedLength } from './rules.ts'

/** A file to attach. */
export interface AttachedFile extends FileTraits {
  /** Decoded; null: not known. */
  byteLength: number | null
  /** The decoded bytes, from the first. Called for each reading of the message. */
  open(): AsyncIterable<Uint8Array>
}

/** The attachments are over 25 MiB together. */
export class AttachmentsTooLarge extends Error {
  override name = 'AttachmentsTooLarge'
}

/** An attachment has another length than was announced. */
export class AttachmentChanged extends Error {
  override name = 'AttachmentChanged'
}

const DEFAULT_TYPE = 'application/octet-stream'
/** Decoded at once, from as many characters as make whole bytes. */
const SLICE_LENGTH = 64 * 1024

/** A file whose content came in base64 with the request. It is decoded piece by piece as it is read, between other work. */
export function fileOfContent(item: {
  filename?: string | null | undefined
  contentType?: string | null | undefined
  contentId?: string | null | undefined
  isInline?: boolean | undefined
  content: string
}): AttachedFile {
  const { content } = item
  return {
    filename: item.filename ?? null,
    contentType: item.contentType ?? DEFAULT_TYPE,
    contentId: item.contentId ?? null,
    isInline: item.isInline ?? false,
    byteLength: decodedLength(content),
    async *open() {
      for (let at = 0; at < content.length; at += SLICE_LENGTH) {
        yield Buffer.from(content.slice(at, at + SLICE_LENGTH), 'base64')
        await nextTurn()
      }
    },
  }
}

// RFC 6838 section 4.2, but for types that have parts of their own, or that must not be encoded (RFC 2046 section 5.2).
const SINGLE_TYPE =
  /^(?!multipart\/|message\/(?:partial|external-body)$)[a-z0-9][\w!#$&^.+-]{0,126}\/[a-z0-9][\w!#$&^.+-]{0,126}$/i
const CONTENT_ID = /^[!-;=?-~]{1,255}$/
const FILE_NAME_LENGTH_MAX = 500

/** The traits of a file as they may be written. A file from another message may have any traits. */
export function writableTraits({ contentType, filename, contentId, isInline }: FileTraits): FileTraits {
  return {
    contentType: SINGLE_TYPE.test(contentType) ? contentType : DEFAULT_TYPE,
    filename: cleanLine(filename ?? '', FILE_NAME_LENGTH_MAX) || null,
    contentId: contentId !== null && CONTENT_ID.test(contentId) ? contentId : null,
    isInline,
  }
}
