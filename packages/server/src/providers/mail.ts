/**
 * The vocabulary in which the service follows the mail of an account.
 *
 * A *source* is what a provider lets us follow with one cursor: a folder on IMAP and Graph, the whole history on
 * Gmail. A *cursor* is an adapter's own JSON; the engine stores it in the transaction of the step that brought it, and
 * passes it back. A *key* names a message at the provider: a number is an IMAP UID, valid within its source; a string is
 * an id that lasts and is unique in the account.
 */
import type { DraftMark } from './draft-mark.ts'
import type { MailboxKind, MailboxRole } from './mailbox-role.ts'

export type MessageKey = number | string
export type Cursor = { readonly [name: string]: unknown }

/** A source as the index has followed it. */
export interface SourceCursor {
  source: string
  cursor: Cursor | null
}

/**
 * The marks by which the index recognises a message under a number. A mail server that comes back from a backup reuses
 * numbers without a new UIDVALIDITY.
 */
export interface KnownMessage {
  internetMessageId: string | null
  /** As of `RemoteMessage`. It also depends on the size, so a message of another identity may be the same one. */
  identity: string
  subject: string | null
  /** The time of the Date field, in milliseconds since 1970. */
  sentAtMs: number | null
  /** Whether numbers of its source may have been reused, so that each is checked before it is used. */
  isSuspect: boolean
}

export interface RemoteMailbox {
  /** The provider's name for it: the path on an IMAP server, the id of a label or folder elsewhere. */
  key: string
  /** An id that survives a rename; null if the provider has none. */
  providerId: string | null
  /** The last part of the path, in Unicode. */
  name: string
  /** The whole name, `/`-separated with any separator of the provider. */
  path: string
  parentKey: string | null
  role: MailboxRole
  kind: MailboxKind
  /** The provider's count, of any size. */
  totalCount: number | null
  unreadCount: number | null
  /** The source of its messages; null if it cannot be opened because it is only a parent of others. */
  source: string | null
  /** Shows cheaply whether the source changed; compare it with `hasChanged`. */
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

/** The state of a content that may change while its key stays. */
export interface ContentState {
  /** Differs after each change of the message, also of its flags alone. */
  revision: string
  /** The same text as long as nothing of the content changes; null if the content was not read. */
  digest: string | null
}

export interface RemoteMessage extends RemoteFlags {
  key: MessageKey
  mailboxKeys: string[]
  /**
   * 128 bits in UUID notation, equal for copies of one message: from the provider's own id, otherwise see
   * `identityOf`.
   */
  identity: string
  /** The provider's thread id; null if the service itself threads by References and In-Reply-To. */
  threadId: string | null
  internetMessageId: string | null
  /** Message-IDs of the messages before it in its thread, oldest first, without its own. */
  references: string[]
  /** Message-IDs of In-Reply-To, which may be none of these. */
  inReplyTo: string[]
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
  /** The mark of a draft of ours, with its generation; null for all other messages. */
  draftMark: DraftMark | null
  /** Whether a draft of ours lacks files: they are being attached to it, or that was interrupted. Absent if not. */
  isIncomplete?: true
  /**
   * The provider's id of the draft whose content this is, if it lasts while the key of the content changes (Gmail);
   * null for all other messages.
   */
  draftKey: string | null
  /** Absent if its content cannot change under its key. */
  content?: ContentState
  /** Whether its header marks it as a report on another message: a bounce, a complaint, a notice. */
  mayBeReport: boolean
  /** Whether it has a calendar object, so that it may be an invitation, as far as is known. */
  mayBeInvitation: boolean
  /** Bytes, as the provider counts them; null if it reports none. */
  size: number | null
  /** Its bytes as RFC 5322, if they came with it at no further cost. */
  source?: Buffer
}

/**
 * The messages that the index holds of a source whose keys are numbers, as parallel arrays with one entry per
 * message, ascending by key.
 */
export interface KnownMessages {
  keys: Uint32Array
  /** Bits of `FlagBit`. */
  flags: Uint8Array
}

export const FlagBit = { read: 1, flagged: 2, draft: 4, categories: 8 } as const

/** The parts of a message that may change under the same key. */
export interface MessageState {
  key: MessageKey
  flags: RemoteFlags
  /** All mailboxes that it is in now; null if they cannot change under the same key. */
  mailboxKeys: string[] | null
}

/** A message that was looked up at the provider. */
export interface LocatedMessage {
  flags: RemoteFlags
  /** All mailboxes that it is in. */
  mailboxKeys: string[]
}

/** A message that the provider has, but does not return, with the reason. */
export interface UnreadableMessage {
  key: MessageKey
  reason: string
}

/** A draft, and the message that is its content now. */
export interface DraftContent {
  draftKey: string
  key: MessageKey
}

/** Messages that were looked up at the provider: found, or gone. */
export interface Located {
  found: Map<MessageKey, LocatedMessage>
  gone: MessageKey[]
  /** The drafts that there are: one of these messages may be gone because its draft has another content. */
  drafts?: readonly DraftContent[]
  /** The provider answers, but not about these: whether it has them is not known. */
  unreadable: UnreadableMessage[]
}

/** A message as its source lists it. */
export interface ListedMessage {
  key: MessageKey
  /** Null if the provider lists the message, but does not return its flags. */
  flags: RemoteFlags | null
  /** All mailboxes that it is in. */
  mailboxKeys: string[]
  /** Null if the provider does not report it. */
  receivedAt: Date | null
  /** As of `RemoteMessage`; absent if it is not fetched, since the keys last. */
  size?: number
}

/** A page of everything that a source holds. */
export interface ListedPage {
  messages: ListedMessage[]
  /** Pass it as `after` to get the next page; null after the last one. Like a cursor, it is an adapter's own JSON. */
  next: Cursor | null
}

export interface ListOptions {
  /** Only messages received at or after this time are wanted; null wants all. */
  since: Date | null
  /** `next` of the previous page; null for the first page. */
  after: Cursor | null
  signal: AbortSignal
}

export interface StatesStep {
  type: 'states'
  changes: MessageState[]
}

/**
 * Messages that left the source. `proof`: the provider deleted them. `hint`: they may be elsewhere, and are searched
 * for before the index deletes them.
 */
export interface GoneStep {
  type: 'gone'
  keys: MessageKey[]
  certainty: 'proof' | 'hint'
  /** As in `Located`. */
  drafts?: readonly DraftContent[]
}

export interface ArrivedStep {
  type: 'arrived'
  /**
   * `new`: came after the cursor. `missing`: older, and not in the index, because the source was never followed or
   * was reset. `widened`: in a part of the window that was not wanted before, so it is not announced.
   */
  origin: 'new' | 'missing' | 'widened'
  /** A message under a lasting key that is already in the index replaces its row. */
  messages: RemoteMessage[]
  unreadable: UnreadableMessage[]
  /**
   * In a first or widened sync, the number of messages of the source that are still to come, as far as is known.
   */
  remaining: number
  /** The time that these take at least, because the provider allows no more calls; absent if it does not bound them. */
  remainingSeconds?: number
}

/**
 * The index can no longer be updated by changes, and the source is read again from its beginning. `void`: it was
 * renumbered or never followed, and no key of it in the index is valid. `kept`: its keys are still valid, but the
 * changes of the messages are unknown.
 */
export interface ResetStep {
  type: 'reset'
  keys: 'void' | 'kept'
  cursor: Cursor
}

/**
 * One page of a change log, which may contain every kind of change. It is recorded in one transaction with its
 * cursor. If a draft has a new content under another key, that arrives in the page in which the former one is gone, and
 * before it.
 */
export interface PageStep {
  type: 'page'
  steps: ReadonlyArray<StatesStep | GoneStep | ArrivedStep>
  cursor: Cursor
}

/** One step of following a source. `cursor` is stored together with the content of the step. */
export type SourceStep = ResetStep | PageStep | ((StatesStep | GoneStep | ArrivedStep) & { cursor: Cursor })

export interface FollowOptions {
  cursor: Cursor | null
  /**
   * The messages that the index holds of a source whose keys are numbers. Called only if a comparison needs it.
   */
  known(): Promise<KnownMessages>
  /** The given lasting keys that are not in the index. The others count as confirmed by a listing. */
  lacking(keys: readonly string[]): Promise<string[]>
  /** The given draft keys whose draft is in the index, with any content. */
  heldDrafts(draftKeys: readonly string[]): Promise<string[]>
  /** Only messages received at or after this time are wanted; null wants all. */
  since: Date | null
  /** Keys that could not be read and are not due for another try. */
  skip: ReadonlySet<MessageKey>
  /** Keys that could not be read and are due for another try: `arrivals` yields them first, as `new`. */
  retry: readonly MessageKey[]
  /** Whether `arrivals` may leave out everything but new messages: it is called again for the rest. */
  onlyNew?: boolean
  /** Whether `compare` compares all flags now, even on a provider that does so only from time to time. */
  isThorough?: boolean
  /**
   * Called by `compare` if the provider shows an earlier state of the source than the cursor's: it may have been restored
   * from a backup, and then numbers of every source may have been given again.
   */
  onRewound?(): Promise<void>
  signal: AbortSignal
}

/** The events of a watched source. All are false if the time was up. */
export interface Notice {
  arrived: boolean
  changed: boolean
  gone: boolean
  /** Something happened in another source, or to mailboxes themselves. Only with `watchesAll`. */
  elsewhere?: boolean
}

/** Follows the mail of an account. Every method throws only `ProviderFailure`. Not for concurrent use. */
export interface MailProvider {
  /** Every mailbox, parents before children. */
  listMailboxes(): Promise<RemoteMailbox[]>

  /**
   * Whether the provider still answers to the key of a mailbox that its list lacks. Absent where lists are always whole.
   */
  answersTo?(key: string): Promise<boolean>

  /**
   * Number of mailboxes whose name or source the last list lacks, because they exceed the adapter's limits.
   */
  readonly mailboxesLeftOut: number

  /**
   * Whether a source may have changed since the cursor. It may return true for an unchanged source, but never false
   * for a changed one.
   */
  hasChanged(mailbox: RemoteMailbox, cursor: Cursor | null): boolean

  /**
   * The changes of the messages in the index: `reset`, `states` and `gone` steps, or the pages of a change log. The
   * cursors of single steps are stored with the last of them, the cursors of pages with each page.
   */
  compare(source: string, options: FollowOptions): AsyncIterable<SourceStep>

  /**
   * Messages that are not in the index, as `arrived` steps: new mail first (oldest first, so that the cursor can
   * advance), then missing messages, newest first. The caller may stop after any step and start again with its cursor.
   */
  arrivals(source: string, options: FollowOptions): AsyncIterable<SourceStep>

  /** Whether `arrivals` has yielded all messages since `since`, and they have been compared since then. */
  isComplete(cursor: Cursor | null, since: Date | null): boolean

  /**
   * Whether a source is still being read for the first time, or again since its keys were void: messages that moved there
   * may not have been yielded yet. Absent where keys last, as `locate` finds such messages.
   */
  isFirstReading?(cursor: Cursor | null): boolean

  /**
   * Describes for people the mail that the index is known to lack although the source is complete, since it cannot be
   * fetched yet; null or absent if there is none. The text is the same as long as the gap is.
   */
  gapOf?(cursor: Cursor | null): string | null

  /**
   * The cursor with which `arrivals` lists the whole source once more, and calls `lacking` with each key. Only for
   * sources whose keys last: they and everything else in the cursor stay valid.
   */
  relist?(cursor: Cursor): Cursor

  /**
   * The cursor of a source whose messages from before `since` have left the index: a window that reaches further back
   * later brings them in again. Returns the same cursor if it never reached back that far.
   */
  narrow(cursor: Cursor, since: Date): Cursor

  /**
   * Whether a mailbox that appeared is the one that this cursor followed under another name. True only if that is
   * certain.
   */
  isRenamed(mailbox: RemoteMailbox, cursor: Cursor): boolean

  /**
   * Looks up which messages the provider still has, with their flags and mailboxes. Always calls the provider. UIDs
   * belong to `at`; if that source was renumbered since its cursor, all of them are gone. Lasting ids need no source.
   * `not_found` if the source is gone. Call it only while no `compare` or `arrivals` is being iterated.
   */
  locate(at: SourceCursor | null, keys: readonly MessageKey[]): Promise<Located>

  /**
   * Finds the numbers under which the source has other messages than the index, by their headers. Absent if keys last.
   * Otherwise like `locate`.
   */
  findOthers?(at: SourceCursor, known: ReadonlyMap<MessageKey, KnownMessage>): Promise<MessageKey[]>

  /**
   * One page of the messages that a source holds, with their flags, in an order of the provider's own. A page may be empty
   * although others follow. A message that stays in the source while its pages are read is on one of them. Messages that arrived after the cursor may be left
   * out. `conflict` if the source was renumbered since the cursor, `not_found` if it is gone. Between two pages the
   * other methods may be called, and the pages may be read over several connections.
   */
  list(at: SourceCursor, options: ListOptions): Promise<ListedPage>

  /** The largest number of differing messages that one comparison may look up. Absent if no quota bounds it. */
  readonly differencesMax?: number

  /** Waits until the source reports a change, or `seconds` have passed. Polls if the provider cannot push. */
  watch(source: string, seconds: number, signal: AbortSignal): Promise<Notice>

  /**
   * The sources that have changed since they were last compared, for a push that may be about any source. Null: only a
   * look at every mailbox can find them. Absent if a push is about the watched source. Only where each mailbox is a source
   * that has its key.
   */
  listNoticed?(): Promise<readonly string[] | null>

  /** True if `watch` is notified at once; false if it polls. */
  readonly isPushed: boolean

  /** Whether `watch` also gets immediate notices of changes in other sources and to mailboxes. */
  readonly watchesAll?: boolean

  /** Whether this connection has turned out to miss changes, so that another one is to take its place. */
  readonly isOutOfDate?: boolean

  /** The reason, for people, why the provider does not notify although it was asked to; null or absent if it does. */
  readonly pushProblem?: string | null

  /**
   * Factor by which the time between two looks at every mailbox may exceed the usual one now, since `watch` reports the
   * changes of all of them; 1 without it.
   */
  readonly passFactor?: number
}
