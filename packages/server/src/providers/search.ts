import type { Cursor, MessageKey, RemoteMessage } from './mail.ts'

/** A source to search in. */
export interface SearchPlace {
  /** The caller's id for it: of messages received at the same instant, the ones with the lowest id come first. */
  id: string
  source: string
  /** The provider's key of the mailbox, of which a source may fill several. */
  mailboxKey: string
  cursor: Cursor | null
  /** Approximate number of its messages; null if unknown. */
  size: number | null
}

/** A found message in the order of the search: newest first, then by source, then by key, highest first. */
export interface SearchPosition {
  receivedAt: Date
  placeId: string
  key: MessageKey
}

export interface SearchQuery {
  /** In the provider's own syntax. */
  text: string
  /** Searched in this order: put the places with the newest mail first. */
  places: readonly SearchPlace[]
  /** Received at or after this time. */
  after: Date | null
  /** Received before this time. */
  before: Date | null
  /** The page begins after it; null begins with the newest. */
  position: SearchPosition | null
  limit: number
  /** A search that takes longer may end its page early, if the newest matches are certain. */
  secondsWanted: number
  /** The times at which these messages of a source were received, as far as they are in the index. */
  known(placeId: string, keys: readonly MessageKey[]): Promise<ReadonlyMap<MessageKey, Date>>
}

export interface SearchHit extends SearchPosition {
  /** Null if the message is in the index. */
  message: RemoteMessage | null
}

export interface SearchPage {
  /**
   * At most `limit`, without messages that were deleted in the meantime or cannot be read. May be empty although more follow.
   */
  hits: SearchHit[]
  /** The position of the next page; null after the last one. */
  next: SearchPosition | null
}

/** Finds messages by the provider's own search. Every method throws only `ProviderFailure`. */
export interface SearchProvider {
  /**
   * One page of the results. All memory is in the position, so that messages which come and go between two pages move
   * no others. Places that are gone hold nothing, and so do forbidden ones beside others. Yields about every second of
   * the provider's time: the connection may then be used otherwise.
   */
  search(query: SearchQuery): AsyncGenerator<void, SearchPage, void>
}
