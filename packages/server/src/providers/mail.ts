/**
 * The vocabulary in which the service speaks of mail providers, and the interface that each adapter fulfils.
 *
 * A *source* is what a provider lets us follow with one cursor: a folder on IMAP and Graph, the whole history on
 * Gmail. A *key* names a message within its source: the UID on IMAP, the provider's message id elsewhere. A *cursor* is
 * an adapter's own JSON; the engine stores it in the transaction of the step that it came with, and hands it back.
 */
import type { ContentRange } from './content.ts'
import type { MailboxKind, MailboxRole } from './mailbox-role.ts'
import type { SearchPage, SearchQuery } from './search.ts'

export type MessageKey = number | string
export type Cursor = { readonly [name: string]: unknown }

export interface RemoteMailbox {
  /** What the provider calls it: the path on an IMAP server, the id of a label or folder elsewhere. */
  key: string
  /** An id that outlives a rename, where the provider has one. */
  providerId: string | null
  /** The last part of the path, in Unicode. */
  name: string
  /** The whole name, `/`-separated whatever the provider's separator is. */
  path: string
  parentKey: string | null
  role: MailboxRole
  kind: MailboxKind
  /** As the provider says, however much that is. */
  totalCount: number | null
  unreadCount: number | null
  /** The source that its messages come from; null where it cannot be opened (a mere parent of others). */
  source: string | null
  /** What tells cheaply whether the source changed; compare with `hasChanged`. */
  state: Cursor | null
}

export interface RemoteAddress {
  name: string | null
  address: string
}

export interface RemoteFlags {
  isRead: boolean
  isFlagged: boolean
  isDraft: boolean
  categories: string[]
}

export interface RemoteMessage extends RemoteFlags {
  key: MessageKey
  mailboxKeys: string[]
  /** 128 bits in UUID notation, equal for copies of one message: of the provider's own id, else see `identityOf`. */
  identity: string
  /** The provider's thread id; null where the service threads by References and In-Reply-To itself. */
  threadId: string | null
  internetMessageId: string | null
  /** Message-IDs that it refers to, oldest first, without its own. */
  references: string[]
  subject: string | null
  from: RemoteAddress | null
  to: RemoteAddress[]
  cc: RemoteAddress[]
  bcc: RemoteAddress[]
  replyTo: RemoteAddress[]
  snippet: string
  receivedAt: Date
  sentAt: Date | null
  hasAttachments: boolean
  importance: 'high' | 'normal' | 'low' | null
  /** Octets, as the provider counts them. */
  size: number
}

/** What the index holds of a source, as parallel arrays: one entry a message, ascending by key. */
export interface KnownMessages {
  keys: Uint32Array
  /** Bits of `FlagBit`. */
  flags: Uint8Array
}

export const FlagBit = { read: 1, flagged: 2, draft: 4, categories: 8 } as const

/** One step of following a source. `cursor` is stored together with what the step says. */
export type SourceStep =
  /** The provider renumbered the source, or it was never followed: no key that the index holds of it is valid. */
  | { type: 'reset'; cursor: Cursor }
  | { type: 'flags'; changes: Array<{ key: MessageKey; flags: RemoteFlags }>; cursor: Cursor }
  /** Messages that are no longer there. The cursor must not be stored before their fate is recorded. */
  | { type: 'gone'; keys: MessageKey[]; cursor: Cursor }
  | {
      type: 'arrived'
      /**
       * `new`: came after the cursor. `missing`: older, and the index lacks it, since the source was never followed or
       * was renumbered. `widened`: lies in a part of the window that was not wanted before, so it is no news.
       */
      origin: 'new' | 'missing' | 'widened'
      messages: RemoteMessage[]
      /** Messages that the provider lists and would not or could not give, with the reason. */
      unreadable: Array<{ key: MessageKey; reason: string }>
      cursor: Cursor
      /** Of a first or widened sync: how many messages of the source are still to come, as far as is known. */
      remaining: number
    }

export interface FollowOptions {
  cursor: Cursor | null
  /** What the index holds of the source; read only when a comparison needs it. */
  known(): Promise<KnownMessages>
  /** Only messages received from then on are wanted; null wants all. */
  since: Date | null
  /** Keys that could not be read and are not due for another try. */
  skip: ReadonlySet<MessageKey>
  /** Keys that could not be read and are due for another try: `arrivals` hands them over first, as `new`. */
  retry: readonly MessageKey[]
  signal: AbortSignal
}

/** What a watched source said. All false: the time was up. */
export interface Notice {
  arrived: boolean
  changed: boolean
  gone: boolean
}

/** A connected mailbox account. Every method throws only `ProviderFailure`. Not for concurrent use. */
export interface MailProvider extends AsyncDisposable {
  /** Every mailbox, parents before children. */
  listMailboxes(): Promise<RemoteMailbox[]>

  /** Of how many mailboxes the last list lacks the name or the source, since they lie beyond the adapter's limits. */
  readonly mailboxesLeftOut: number

  /** Whether a source may have changed since the cursor. May be wrong only in one direction: true when it did not. */
  hasChanged(mailbox: RemoteMailbox, cursor: Cursor | null): boolean

  /** What became of the messages that the index holds: `reset`, `flags` and `gone` steps. */
  compare(source: string, options: FollowOptions): AsyncIterable<SourceStep>

  /**
   * Messages that the index does not hold: `arrived` steps, new mail first (oldest first, so that the cursor can move
   * up), then what is missing, newest first. The caller may stop after any step and begin again with its cursor.
   */
  arrivals(source: string, options: FollowOptions): AsyncIterable<SourceStep>

  /** Whether all messages since `since` have been handed over by `arrivals`, and compared since. */
  isComplete(cursor: Cursor | null, since: Date | null): boolean

  /**
   * The cursor of a source whose messages from before `since` are no longer in the index: a window that reaches further
   * back later brings them in again. The same cursor where it never reached back that far.
   */
  narrow(cursor: Cursor, since: Date): Cursor

  /** Whether an appeared mailbox is the one that this cursor followed under another name. Sure, or false. */
  isRenamed(mailbox: RemoteMailbox, cursor: Cursor): boolean

  /**
   * Which of these keys the source still has, asked afresh; none when it was renumbered since the cursor. Only while no
   * `compare` or `arrivals` is being iterated.
   */
  findPresent(source: string, cursor: Cursor | null, keys: readonly MessageKey[]): Promise<Set<MessageKey>>

  /**
   * Octets of a message as the provider holds them, still in their transfer encoding: fewer than asked for at the end,
   * and none past it. Null where the provider gives nothing, as of a part that the message lacks: that is no end.
   * `not_found` where the message is gone. Only while no `compare` or `arrivals` is being iterated.
   */
  readContent(
    place: { source: string; cursor: Cursor | null; key: MessageKey },
    range: ContentRange,
  ): Promise<Buffer | null>

  /**
   * Sources of several messages, asked for at once. Left out are those that are gone, that the provider does not give,
   * that take more than `CONTENT_BYTES_MAX`, and that no longer fit into `bytesMax` together. Only while no `compare` or
   * `arrivals` is being iterated.
   */
  readSources(
    place: { source: string; cursor: Cursor | null; keys: readonly MessageKey[] },
    bytesMax: number,
  ): Promise<Map<MessageKey, Buffer>>

  /**
   * Finds messages by the provider's own search: a page of them. What it remembers lies in the position alone, so that
   * messages which come and go between two pages move no other. Places that are gone hold nothing, and so do forbidden
   * ones beside others. Yields about every second of the provider's time: the connection may then be used otherwise.
   */
  search(query: SearchQuery): AsyncGenerator<void, SearchPage, void>

  /** Waits until the source tells of a change, or `seconds` passed. Polls where the provider cannot push. */
  watch(source: string, seconds: number, signal: AbortSignal): Promise<Notice>

  /** True when `watch` is told at once rather than by polling. */
  readonly isPushed: boolean
}
