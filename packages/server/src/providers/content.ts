import type { KnownMessage, MessageKey, SourceCursor } from './mail.ts'

/** The location of a message at its provider: its source and key. */
export interface Location extends SourceCursor {
  key: MessageKey
  /**
   * The marks by which the index recognises it if its key is a number; null or absent if they are not to be checked.
   */
  known?: KnownMessage | null
}

/** The bytes of a message that are wanted. */
export interface ContentRange {
  /** A MIME part number, such as `1.2`; null for the whole message. */
  part: string | null
  /** The MIME header of the part, or the header of the message, instead of its content. */
  isHeader: boolean
  /** The first byte. */
  offset: number
  /** Nothing is wanted from this byte on; null: everything to the end. */
  end: number | null
  /** The length of the whole, as the provider reported it; null if unknown. A read that ends there requests no more. */
  size: number | null
}

/** The longest piece of a stream, and the longest source that `readSources` gives. */
export const CONTENT_BYTES_MAX = 256 * 1024

/**
 * The end of a stream of content. `end`: the provider has no more, or no more was wanted. `nothing`: the provider gave
 * nothing at all at a request for more, which is no end, since it does the same for a part that the message lacks.
 */
export type ContentEnd = 'end' | 'nothing'

/** Reads messages whole. Every method throws only `ProviderFailure`. */
export interface ContentProvider {
  /**
   * Streams bytes of a message as the provider holds them, still in their transfer encoding: pieces of at most
   * `CONTENT_BYTES_MAX`, none of them empty. If the account has one connection for all its readers, others may use it
   * between two pieces. `not_found` if the message is gone, or another one has its number (`isOther` of the failure).
   */
  open(location: Location, range: ContentRange): AsyncGenerator<Buffer, ContentEnd, void>

  /**
   * Sources of several messages of one source, requested together. Left out are messages that are gone, whose numbers
   * other messages have, that the provider does not give, that take more than `CONTENT_BYTES_MAX`, or that no longer
   * fit into `bytesMax` together.
   */
  readSources(
    at: SourceCursor & { keys: readonly MessageKey[]; known?: ReadonlyMap<MessageKey, KnownMessage> },
    bytesMax: number,
  ): Promise<Map<MessageKey, Buffer>>
}
