import { ATTACHED_BYTES_MAX } from '@waxwing/contract/sending/send-body.ts'
import type { FileTraits } from '../../../kit/mime-writing/entity.ts'
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

/** An attachment does not have the bytes that it was said to have. */
export class AttachmentChanged extends Error {
  override name = 'AttachmentChanged'
}

const DEFAULT_TYPE = 'application/octet-stream'
/** Decoded at once, from as many characters as make whole bytes. */
const SLICE_LENGTH = 64 * 1024

/** A file whose content came in base64 with the request. It is decoded piece by piece as it is read. */
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
      for (let at = 0; at < content.length; at += SLICE_LENGTH)
        yield Buffer.from(content.slice(at, at + SLICE_LENGTH), 'base64')
    },
  }
}

/** Counts what the attachments of one reading take together. */
export interface Allowance {
  left: number
}

export function newAllowance(): Allowance {
  return { left: ATTACHED_BYTES_MAX }
}

/** @throws AttachmentsTooLarge, AttachmentChanged */
export async function* counted(file: AttachedFile, allowance: Allowance): AsyncGenerator<Uint8Array> {
  let bytes = 0
  for await (const piece of file.open()) {
    bytes += piece.length
    allowance.left -= piece.length
    if (allowance.left < 0) throw new AttachmentsTooLarge('The attachments are over the limit')
    yield piece
  }
  if (file.byteLength !== null && bytes !== file.byteLength)
    throw new AttachmentChanged('An attachment has another length than it had before')
}
