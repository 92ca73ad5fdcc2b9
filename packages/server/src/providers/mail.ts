/**
 * The vocabulary in which the service follows the mail of an account.
 *
 * A *source* is what a provider lets us follow with one cursor: a folder on IMAP and Graph, the whole history on
 * Gmail. A *cursor* is an adapter's own JSON; the engine stores it in the transaction of the step that it came with, and
 * hands it back. A *key* names a message at the provider: a number is an IMAP UID, valid within its source; a string is
 * an id that lasts and is unique in the account.
 */
import type { ContentRange, Location } from './content.ts'
import type { MailboxKind, MailboxRole } from './mailbox-role.ts'
import type { SearchPage, SearchQuery } from './search.ts'

export type MessageKey = number | string
export type Cursor = { readonly [name: string]: unknown }

/** A source as the index has followed it. */
export interface SourceCursor {
  source: string
  cursor: Cursor | null
}

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

/** What the index holds of a source whose keys are numbers, as parallel arrays: one entry a message, ascending by key. */
export interface KnownMessages {
  keys: Uint32Array
  /** Bits of `FlagBit`. */
  flags: Uint8Array
}

export const FlagBit = { read: 1, flagged: 2, draft: 4, categories: 8 } as const

/** What may change about a message without a new key. */
export interface MessageState {
  key: MessageKey
  flags: RemoteFlags
  /** Every mailbox that it is in now; null where these cannot change under the same key. */
  mailboxKeys: string[] | null
}

export interface StatesStep {
  type: 'states'
  changes: MessageState[]
}

/**
 * Messages that left the source. `proof`: the provider deleted them. `hint`: they may be elsewhere, and are looked for
 * before the index deletes them.
 */
export interface GoneStep {
  type: 'gone'
  keys: MessageKey[]
  certainty: 'proof' | 'hint'
}

export interface ArrivedStep {
  type: 'arrived'
  /**
   * `new`: came after the cursor. `missing`: older, and the index lacks it, since the source was never followed or
   * was reset. `widened`: lies in a part of the window that was not wanted before, so it is no news.
   */
  origin: 'new' | 'missing' | 'widened'
  /** A message under a lasting key that the index holds already replaces what the index says of it. */
  messages: RemoteMessage[]
  /** Messages that the provider lists and would not or could not give, with the reason. */
  unreadable: Array<{ key: MessageKey; reason: string }>
  /** Of a first or widened sync: how many messages of the source are still to come, as far as is known. */
  remaining: number
}

/**
 * The index can no longer be brought up to date by changes, and the source is read again from its beginning. `void`: it
 * was numbered again, or never followed, and no key that the index holds of it is valid. `kept`: keys are as they were,
 * but what happened to them is not known.
 */
export interface ResetStep {
  type: 'reset'
  keys: 'void' | 'kept'
  cursor: Cursor
}

/** One page of a change log, which may tell of every kind of change. It is recorded in one transaction with its cursor. */
export interface PageStep {
  type: 'page'
  steps: ReadonlyArray<StatesStep | GoneStep | ArrivedStep>
  cursor: Cursor
}

/** One step of following a source. `cursor` is stored together with what the step says. */
export type SourceStep = ResetStep | PageStep | ((StatesStep | GoneStep | ArrivedStep) & { cursor: Cursor })

export interface FollowOptions {
  cursor: Cursor | null
  /** What the index holds of a source whose keys are numbers; read only when a comparison needs it. */
  known(): Promise<KnownMessages>
  /** Which of these lasting keys the index lacks. The others are taken to be confirmed by a listing. */
  lacking(keys: readonly string[]): Promise<string[]>
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

  /**
   * What became of the messages that the index holds: `reset`, `states` and `gone` steps, or the pages of a change log.
   * The cursors of single steps are stored with the last of them, those of pages with each.
   */
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
   * Which of these messages the provider still has, and where: every mailbox by key. Asked again, not remembered. UIDs
   * are those of `at`, and all gone when it was numbered again since its cursor; lasting ids need none. Only while no
   * `compare` or `arrivals` is being iterated.
   */
  locate(at: SourceCursor | null, keys: readonly MessageKey[]): Promise<Map<MessageKey, string[]>>

  /**
   * Octets of a message as the provider holds them, still in their transfer encoding: fewer than asked for at the end,
   * and none past it. Null where the provider gives nothing, as of a part that the message lacks: that is no end.
   * `not_found` where the message is gone. Only while no `compare` or `arrivals` is being iterated.
   */
  readContent(location: Location, range: ContentRange): Promise<Buffer | null>

  /**
   * Sources of several messages, asked for at once. Left out are those that are gone, that the provider does not give,
   * that take more than `CONTENT_BYTES_MAX`, and that no longer fit into `bytesMax` together. Only while no `compare` or
   * `arrivals` is being iterated.
   */
  readSources(
    place: SourceCursor & { keys: readonly MessageKey[] },
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
