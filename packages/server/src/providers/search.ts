import type { Cursor, MessageKey, RemoteMessage } from './mail.ts'

/** A source to search in. */
export interface SearchPlace {
  /** What the caller calls it: of messages received at one instant, those of the lowest id come first. */
  id: string
  source: string
  cursor: Cursor | null
  /** How many messages it holds, about; null: nobody knows. */
  size: number | null
}

/** A found message in the order of the search: newest first, then by place, then by key from the highest down. */
export interface SearchPosition {
  receivedAt: Date
  placeId: string
  key: MessageKey
}

export interface SearchQuery {
  /** In the provider's own syntax. */
  text: string
  /** Looked through in this order: those with the newest mail are best put first. */
  places: readonly SearchPlace[]
  /** Received then or later. */
  after: Date | null
  /** Received earlier. */
  before: Date | null
  /** The page begins after it; null: with the newest. */
  position: SearchPosition | null
  limit: number
  /** A search that takes longer may end its page early, where it is sure of the newest. */
  secondsWanted: number
  /** When these messages of a place were received, of those that the index holds. */
  known(placeId: string, keys: readonly MessageKey[]): Promise<ReadonlyMap<MessageKey, Date>>
}

export interface SearchHit extends SearchPosition {
  /** Null where the index holds the message. */
  message: RemoteMessage | null
}

export interface SearchPage {
  /** At most `limit`; without messages that went meanwhile or cannot be read. May be none although more follow. */
  hits: SearchHit[]
  /** Of the next page; null where this is the last one. */
  next: SearchPosition | null
}
