/**
 * The vocabulary in which the service changes the mail of an account.
 *
 * Sets are changed in batches: a generator yields each completed part, in the order of the changes, and throws where it
 * fails. A yielded part stays true after a later failure, so record it before the failure is answered. The same call
 * may be made again after any failure: it goes on, and neither duplicates nor loses a message.
 *
 * A failure with `isBeforeAcceptance` changed nothing at all in that call. Without it the part of the set that was not
 * yielded may have been changed too, so repeat the call for it, or leave it to the next sync.
 */
import type { DraftMark } from './draft-mark.ts'
import type { MailboxRole } from './mailbox-role.ts'
import type {
  Cursor,
  ContentState,
  KnownMessage,
  MessageKey,
  MessageState,
  RemoteFlags,
  RemoteMailbox,
  RemoteMessage,
  SourceCursor,
} from './mail.ts'
import type { SplitContent } from './sending.ts'

/** The largest set of one call. */
export const CHANGED_KEYS_MAX = 5000
/** The most messages that `find` answers. */
export const FOUND_MESSAGES_MAX = 100

/**
 * Messages of one source. If the source was renumbered since its cursor, or has no cursor and keys do not last, the call
 * fails with `unavailable` before anything is changed.
 */
export interface MessageSet extends SourceCursor {
  /** At most `CHANGED_KEYS_MAX`, each once. */
  keys: readonly MessageKey[]
  /**
   * The marks by which the index recognises numbered messages: messages that do not match now are left alone. Messages
   * without marks are not checked.
   */
  known?: ReadonlyMap<MessageKey, KnownMessage>
}

/** Flags to set and to clear. Other flags stay as they are, even if other clients changed them. */
export interface FlagChange {
  isRead?: boolean
  isFlagged?: boolean
  addCategories?: readonly string[]
  removeCategories?: readonly string[]
  /** Left out without a failure if the provider cannot keep it. */
  isAnswered?: true
  /** Left out without a failure if the provider cannot keep it. */
  isForwarded?: true
}

/** A message as it was found after the change, also where another client changed it at the same time. */
export interface ChangedMessage extends MessageState {
  /**
   * A number in decimal digits that grows with every change of the message: of two states, the one with the larger
   * number is newer. IMAP: its mod-sequence. Null if the provider has none.
   */
  revision: string | null
}

/** Keys that a change did not find. */
export interface NotFound {
  /** Keys that the source no longer has: another client moved or removed these messages. */
  gone: MessageKey[]
  /** Keys under which the source has other messages than the index; they were left alone. Absent if there are none. */
  others?: MessageKey[]
}

export interface ChangedBatch extends NotFound {
  changed: ChangedMessage[]
}

/** The location of a message, and the numbering of its source in which it holds. */
export interface NewLocation {
  source: string
  key: MessageKey
  /**
   * Whether the key is valid in the source as the index has followed it: false if the source was renumbered between the
   * two. Call it in the transaction that stores the key, with the cursor as that transaction reads it.
   */
  isValidUnder(cursor: Cursor | null): boolean
  /**
   * The cursor from which the source is followed if this is the first message of it that the index holds. Null if keys
   * last without a cursor.
   */
  firstCursor: Cursor | null
}

export interface RemovedBatch extends NotFound {
  removed: MessageKey[]
}

export interface MovedMessage {
  /** Its key before the move. */
  key: MessageKey
  /**
   * Null if the provider does not report it (IMAP without COPYUID): the message is in the target, and the next sync of
   * the target finds it.
   */
  location: NewLocation | null
  /** All mailboxes that it is in now. */
  mailboxKeys: string[]
}

export interface MovedBatch extends NotFound {
  moved: MovedMessage[]
}

/** A message to add. */
export interface NewMessage {
  /** As its header has it, with angle brackets. */
  internetMessageId: string
  /** Exactly how many bytes `open` yields; a stream of another length fails, and adds nothing. */
  byteLength: number
  /** The bytes from the first, with lines that end with CRLF. Called at most once for each call. */
  open(): AsyncIterable<Uint8Array>
  split?: SplitContent
  flags: RemoteFlags
  /** The time of receipt that the provider is to keep; null for the present. */
  receivedAt: Date | null
  /** The provider's thread that it belongs to, if the provider keeps threads. */
  threadId: string | null
}

export interface AddedMessage {
  /** Null if the provider took the message and its location is unknown. The next sync finds it. */
  location: NewLocation | null
  mailboxKeys: string[]
  /** The provider's id of the draft, if that is another than the key (Gmail). Lasts over `replaceDraft`. */
  draftKey: string | null
  /** Null if the provider keeps no threads. */
  threadId: string | null
  /**
   * The message as the provider describes it; null if it was not read back, or equals the message that was handed over.
   */
  message: RemoteMessage | null
}

export interface NewDraft {
  mailboxKey: string
  /** Its header must have `DRAFT_FIELD` with `mark`. */
  message: NewMessage
  mark: DraftMark
}

/** A content of a draft that is looked for, or that is to be removed. */
export interface FormerContent extends SourceCursor {
  key: MessageKey
  known?: KnownMessage | null
  /** As of `FoundMessage`: it is removed only if it is still the same. Null or absent: that is not checked. */
  revision?: string | null
}

/** A draft as the index has it. */
export interface KnownDraft {
  mailboxKey: string
  /** Its content as the index has it; null if its location is unknown, or if it has other content by now. */
  former: FormerContent | null
  /** The provider's id of the draft, if that is another than the key of its content (Gmail). */
  draftKey: string | null
  /** Null if it has none by which it can be found. */
  internetMessageId: string | null
}

export interface DraftReplacement extends NewDraft, Omit<KnownDraft, 'internetMessageId'> {
  /**
   * Contents that other clients gave the draft, as they were found together, which go as well. Ignored if a draft has
   * one content.
   */
  others: ReadonlyArray<Pick<FoundMessage, 'location' | 'revision'>>
  /** As of `DraftSettling`. */
  copies: DraftSettling['copies']
}

export interface DraftRemoval extends KnownDraft {
  /** As of `DraftReplacement`. */
  others: DraftReplacement['others']
}

/**
 * `replaced`: the new content is at the provider. `lost`: the provider claims to have taken the new content, but has
 * neither it nor the old content.
 */
export type DraftOutcome =
  | {
      type: 'replaced'
      added: AddedMessage
      /**
       * False if an old content is still there, because removing it failed after the new one was added: call
       * `settleDraft`.
       */
      isSettled: boolean
    }
  | { type: 'lost' }

export interface DraftSettling {
  mailboxKey: string
  internetMessageId: string
  draftId: string
  /** Messages with the mark of the draft which the index has as messages of their own: they stay. */
  copies: ReadonlyArray<SourceCursor & { key: MessageKey }>
}

export interface SettledDraft {
  /** The highest complete generation; null if the mailbox has none of this draft. */
  kept: { location: NewLocation; generation: number } | null
  /** Keys of lower generations, which were removed. */
  removed: MessageKey[]
  /** Other contents with the mark of the draft, which stay as messages of their own. Absent if nothing is known of any. */
  left?: NewLocation[]
}

export interface FoundMessage {
  location: NewLocation
  flags: RemoteFlags
  /** The requested fields, by the requested name; the first of each, unfolded. */
  fields: ReadonlyMap<string, string>
  /** As of `ContentState`; null if its content cannot change under its key. */
  revision: ContentState['revision'] | null
}

/** A mailbox that has another key or path than before. */
export interface RenamedMailbox {
  formerKey: string
  mailbox: RemoteMailbox
}

export interface NewMailbox {
  /** Null: at the top level. */
  parentKey: string | null
  /** One level, in Unicode. */
  name: string
  /**
   * Whether an earlier try may have created it: then a mailbox of that name is answered as if it were new, otherwise it
   * is a `conflict`.
   */
  mayExist: boolean
}

/** The roles of mailboxes that are made when they are first needed. */
export type NeededRole = Extract<MailboxRole, 'trash' | 'sent' | 'drafts'>

/**
 * Changes mail. Every method throws only `ProviderFailure`: `not_found` if a mailbox that it names is gone, `conflict`
 * if a name is taken, `rejected` if the provider refuses, `forbidden` if the account may only read, `unsupported` if
 * the provider cannot do such a thing. Not for concurrent use, and not while `compare` or `arrivals` is being iterated
 * over the same connection.
 */
export interface ChangingProvider {
  /** Whether a message can be in several mailboxes (Gmail), so that `changeLabels` works. */
  readonly hasLabels: boolean
  /** The largest message that can be added, in bytes; null if the provider names no limit. */
  readonly messageBytesMax: number | null

  /** Creates a mailbox and subscribes to it. */
  createMailbox(mailbox: NewMailbox): Promise<RemoteMailbox>

  /** The mailbox with a role, which is created and subscribed to if there is none. */
  requireMailbox(role: NeededRole): Promise<{ mailbox: RemoteMailbox; isNew: boolean }>

  /**
   * Gives a mailbox another name, another parent, or both; absent stays. Mailboxes below it, and subscriptions, follow.
   * @returns it first, then the mailboxes below it, parents before children
   */
  renameMailbox(key: string, to: { name?: string; parentKey?: string | null }): Promise<RenamedMailbox[]>

  /**
   * Deletes a folder with its messages, and its subscription; `rejected` if the provider has mailboxes below it. The
   * messages of a label stay, and so do the labels below it.
   * @returns mailboxes that have another name or parent since, parents before children
   */
  deleteMailbox(key: string): Promise<RenamedMailbox[]>

  /** `unsupported` if the mailbox cannot keep a flag that is named, or no categories; then nothing is changed. */
  changeFlags(at: MessageSet, change: FlagChange): AsyncGenerator<ChangedBatch, void, void>

  /**
   * Moves messages to another mailbox. On a provider with labels, the target replaces all labels that act as folders.
   * `not_found` if the target is gone, `rejected` if it cannot hold messages.
   */
  move(at: MessageSet, targetKey: string): AsyncGenerator<MovedBatch, void, void>

  /** `unsupported` without labels. Mailbox keys in `add` and `remove` are distinct. */
  changeLabels(
    at: MessageSet,
    labels: { add: readonly string[]; remove: readonly string[] },
  ): AsyncGenerator<ChangedBatch, void, void>

  /** Removes messages for good, and no others: never messages that another client marked as deleted. */
  remove(at: MessageSet): AsyncGenerator<RemovedBatch, void, void>

  /**
   * Adds a message, such as the copy of a sent one. It is not repeated after a failure, so look for it with `find`
   * first, if an earlier try may have added it.
   */
  addMessage(mailboxKey: string, message: NewMessage): Promise<AddedMessage>

  /**
   * Adds a draft. If the mailbox already has the same generation of the same draft, from an earlier try, that is
   * answered, and nothing is added.
   * @param mayExist whether there may have been an earlier try
   */
  addDraft(draft: NewDraft, mayExist: boolean): Promise<AddedMessage>

  /**
   * The contents that the provider has of a draft, newest first; always calls the provider. If drafts have ids of their
   * own, there is at most one; otherwise all contents with its Message-ID, also from other clients.
   * @param fields as of `find`
   */
  findDraft(draft: KnownDraft, fields: readonly string[]): Promise<FoundMessage[]>

  /**
   * A draft as the index shows it, with the state of its content; null if it is gone. Absent if the content of a draft
   * cannot change under its key.
   */
  readDraft?(key: MessageKey): Promise<RemoteMessage | null>

  /**
   * Removes a draft for good, with its `others`. A draft that is gone is no failure. If one of them has another revision
   * by now, that is a `conflict`, and `not_found` if `former` was moved or sent: then nothing is removed.
   */
  removeDraft(draft: DraftRemoval): Promise<void>

  /**
   * Gives a draft new content: in place, or by adding it, making sure that the provider has it, and only then removing
   * `former`, `others` and lower generations of the same draft, except `copies` and generations that another client has
   * changed since a higher one was made. May be called again with the same mark after any failure. `not_found` if a draft
   * with an id of its own is gone. If another client changes one of the contents to be removed meanwhile, that is a
   * `conflict`: all of them stay, and the new one is removed.
   *
   * Between adding and removing, a crash leaves both. A sync that sees a second message with the Message-ID of a draft
   * in its mailbox (a draft keeps its Message-ID) calls `settleDraft`, which keeps the highest generation.
   */
  replaceDraft(draft: DraftReplacement): Promise<DraftOutcome>

  /**
   * Removes the contents of a draft in its mailbox, except for the highest generation, wherever that is, and `copies`. A
   * generation that lacks files is removed, too, if there is one that does not. Messages of the same Message-ID without
   * the draft's mark, which another client wrote, are left alone, and generations that another client has changed since a
   * higher one was made. Does nothing if drafts have one content.
   */
  settleDraft(draft: DraftSettling): Promise<SettledDraft>

  /**
   * The messages of a mailbox with exactly this Message-ID, newest first, at most `FOUND_MESSAGES_MAX`. Always calls
   * the provider.
   * @param fields names of header fields to read
   */
  find(mailboxKey: string, internetMessageId: string, fields?: readonly string[]): Promise<FoundMessage[]>
}
