import type { KnownMessage, MessageKey, SourceCursor } from './mail.ts'

/** The location of a message at its provider: its source and key. */
export interface Location extends SourceCursor {
  key: MessageKey
  /** What the index knows it by if its key is a number; null or absent if that is not asked about. */
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
  /** The length of the whole that the provider has told; null if unknown. A read that ends there asks for no more. */
  size: number | null
}

/** The longest piece of a stream, and the longest source that `readSources` gives. */
export const CONTENT_BYTES_MAX = 256 * 1024

/**
 * How a stream of content ended. `end`: the provider has no more, or no more was wanted. `nothing`: the provider gave
 * nothing at all when it was asked for more, which is no end, since it does so of a part that the message lacks.
 */
export type ContentEnd = 'end' | 'nothing'

/** Reads messages whole. Every method throws only `ProviderFailure`. */
export interface ContentProvider {
  /**
   * Streams bytes of a message as the provider holds them, still in their transfer encoding: pieces of at most
   * `CONTENT_BYTES_MAX`, none of them empty. Where the account has one connection for all its readers, others may use it
   * between two pieces. `not_found` where the message is gone, or
   * another one has its number (`isOther` of the failure).
   */
  open(location: Location, range: ContentRange): AsyncGenerator<Buffer, ContentEnd, void>

  /**
   * Sources of several messages of one source, asked for at once. Left out are those that are gone, whose numbers
   * others have, that the provider does not give, that take more than `CONTENT_BYTES_MAX`, and that no longer fit into `bytesMax` together.
   */
  readSources(
    at: SourceCursor & { keys: readonly MessageKey[]; known?: ReadonlyMap<MessageKey, KnownMessage> },
    bytesMax: number,
  ): Promise<Map<MessageKey, Buffer>>
}
