import type { MessageKey, SourceCursor } from './mail.ts'

/** Where a message is at its provider. */
export interface Location extends SourceCursor {
  key: MessageKey
}

/** Which octets of a message are wanted. */
export interface ContentRange {
  /** A MIME part number, such as `1.2`; null: the whole message. */
  part: string | null
  /** The part's MIME header, or the message's, in place of its content. */
  isHeader: boolean
  offset: number
  /** At most `CONTENT_BYTES_MAX`. */
  length: number
}

/** Of one answer of `readContent`. */
export const CONTENT_BYTES_MAX = 256 * 1024
