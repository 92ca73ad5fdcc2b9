import type { NumberedLog } from './change-log.ts'
import type { WellKnownName } from './well-known-names.ts'

/** A name and an address; either may be empty. */
export interface Recipient {
  readonly name: string
  readonly address: string
}

export interface Body {
  readonly contentType: 'text' | 'html'
  readonly content: string
}

export interface Flag {
  readonly flagStatus: 'notFlagged' | 'flagged' | 'complete'
  /** Fields of Graph's `followupFlag` that a client set, such as `dueDateTime`. */
  readonly dates?: Readonly<Record<string, unknown>>
}

export interface FileAttachment {
  readonly kind: 'file'
  readonly bytes: Buffer
}

/** A message, an event or a contact in a message. */
export interface ItemAttachment {
  readonly kind: 'item'
  /** The message as MIME; null for an item that came as JSON. */
  readonly mime: Buffer | null
  readonly item: Readonly<Record<string, unknown>>
}

/** A link to a file elsewhere. */
export interface ReferenceAttachment {
  readonly kind: 'reference'
  readonly sourceUrl: string
}

export type Attachment = (FileAttachment | ItemAttachment | ReferenceAttachment) & {
  readonly id: string
  readonly name: string
  readonly contentType: string
  /** Bytes of the content. */
  readonly size: number
  readonly isInline: boolean
  /** Without angle brackets. */
  readonly contentId: string | null
  /** Milliseconds since 1970. */
  readonly modifiedAt: number
}

/** Properties of a message that may change. Times are in milliseconds since 1970. */
export interface MessageFields {
  subject: string
  from: Recipient | null
  sender: Recipient | null
  toRecipients: readonly Recipient[]
  ccRecipients: readonly Recipient[]
  bccRecipients: readonly Recipient[]
  replyTo: readonly Recipient[]
  sentAt: number
  receivedAt: number
  /** With angle brackets. */
  internetMessageId: string
  importance: 'low' | 'normal' | 'high'
  isRead: boolean
  isDraft: boolean
  flag: Flag
  categories: readonly string[]
  inferenceClassification: 'focused' | 'other'
  isReadReceiptRequested: boolean
  isDeliveryReceiptRequested: boolean
  /** Property 0x001A, such as `IPM.Note` or `REPORT.IPM.Note.NDR`. */
  messageClass: string
  conversationId: string
  /** Extended properties with one value that a client set, by their normalized ids (`propertyId`). */
  extended: ReadonlyMap<string, string>
}

/** Content of a message that is read from its MIME when it is first asked for. */
export interface MessageContent {
  readonly body: Body
  /** Without inline attachments. */
  readonly hasAttachments: boolean
  readonly preview: string
  readonly attachments: readonly Attachment[]
}

/** A message of a mailbox. Only the functions of `messages.ts` change it. */
export interface Message extends Readonly<MessageFields> {
  readonly immutableId: string
  /** The id without the preference for immutable ids: another one after each move. */
  readonly id: string
  /** Counts messages of the mailbox; later ones have a greater number. */
  readonly number: number
  readonly folder: Folder
  /** The message as MIME (RFC 5322): `$value`. */
  readonly raw: Buffer
  /** Null until it is asked for. Use `contentOf`. */
  readonly content: MessageContent | null
  readonly changeKey: string
  readonly createdAt: number
  readonly modifiedAt: number
  /** Number of its last change in the mailbox. */
  readonly lastChange: number
}

/** A search that a folder shows as if its hits were in it. */
export interface SearchFolder {
  readonly sourceFolderIds: readonly string[]
  readonly includeNestedFolders: boolean
  /** A `$filter` on messages. */
  readonly filterQuery: string
}

/** A folder of a mailbox. Only the functions of `folders.ts` and `messages.ts` change it. */
export interface Folder {
  readonly id: string
  readonly number: number
  readonly wellKnownName: WellKnownName | null
  readonly displayName: string
  /** Null for the two roots: that of mail, and that of search folders. */
  readonly parent: Folder | null
  readonly isHidden: boolean
  readonly search: SearchFolder | null
  readonly children: Set<Folder>
  /** Newest first, by the time of receipt. */
  readonly ordered: Message[]
  readonly unreadCount: number
  readonly log: ChangeLog<Message>
}

/** A change of the folders of a mailbox. */
export interface HierarchyChange {
  readonly number: number
  readonly kind: 'changed' | 'removed'
  readonly folder: Folder
}

/**
 * A change of a folder: an item came into it (new, or from another folder), changed in it, or left it (deleted, or
 * to another folder).
 */
export interface ItemChange<Item> {
  /** Number in the mailbox, which grows with each change. */
  readonly number: number
  readonly kind: 'arrived' | 'changed' | 'left'
  readonly item: Item
  /** The id that the item had in this folder without the preference for immutable ids. */
  readonly id: string
  /** Whether the item was moved: it came from another folder, or is in another one now. */
  readonly moved: boolean
  /** Names of the changed properties as Graph has them; empty unless the kind is `changed`. */
  readonly fields: readonly string[]
}

export type FolderChange = ItemChange<Message>

/** The changes of a folder, oldest first. */
export type ChangeLog<Item> = NumberedLog<ItemChange<Item>>
