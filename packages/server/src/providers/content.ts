import type { MessageKey, SourceCursor } from './mail.ts'

/** Where a message is at its provider: its source and key. */
export interface Location extends SourceCursor {
  key: MessageKey
}

/** A range of bytes of a message. */
export interface ContentRange {
  /** A MIME part number, such as `1.2`; null for the whole message. */
  part: string | null
  /** The MIME header of the part, or the header of the message, instead of its content. */
  isHeader: boolean
  offset: number
  /** At most `CONTENT_BYTES_MAX`. */
  length: number
}

/** Maximum size of one answer of `readContent`. */
export const CONTENT_BYTES_MAX = 256 * 1024
