import { headersOf, referencesOf } from '../../mail/message-headers.ts'
import { baseSubject } from '../../mail/headers.ts'
import { recordChange } from './change-log.ts'
import { changeKey, conversationId, immutableId, placeId } from './ids.ts'
import { type Mailbox, nextChange, nextNumber } from './mailbox.ts'
import { meetingClassOf } from './meeting-class.ts'
import type {
  Attachment,
  Body,
  Folder,
  FolderChange,
  Message,
  MessageContent,
  MessageFields,
} from './message.ts'
import { fieldsOfMime, readContent } from './content.ts'

/** A message that only the functions of this file may write. */
type Writable = { -readonly [Name in keyof Message]: Message[Name] }

export interface NewMessage {
  folder: Folder
  /** The message as MIME, from which all is read that `fields` does not give. */
  raw: Buffer
  fields?: Partial<MessageFields>
  /** A body and attachments that MIME cannot carry as they are; by default those of `raw`. */
  content?: MessageContent
  createdAt?: number
  modifiedAt?: number
}

export interface MessageChanges extends Partial<MessageFields> {
  /** New MIME of the message; `content` is read from it again unless it is given too. */
  raw?: Buffer
  content?: MessageContent
}

/** Puts a message into a folder. */
export function addMessage(
  mailbox: Mailbox,
  { folder, raw, fields, content, createdAt, modifiedAt }: NewMessage,
): Message {
  const now = mailbox.now()
  const headers = headersOf(raw)
  const messageClass = meetingClassOf(raw)
  const given = {
    ...defaultFields(now),
    ...fieldsOfMime(headers),
    ...(messageClass !== null && { messageClass }),
    ...fields,
  }
  const number = nextNumber(mailbox)
  const message: Writable = {
    ...given,
    receivedAt: fields?.receivedAt ?? now,
    conversationId:
      fields?.conversationId ??
      conversationOf(mailbox, given.subject, referencesOf(headers)) ??
      conversationId(mailbox.store, number),
    immutableId: immutableId(mailbox.store, number),
    id: placeId(mailbox.store, folder.number, number),
    number,
    folder,
    raw,
    content: content ?? null,
    changeKey: changeKey(number),
    createdAt: createdAt ?? now,
    modifiedAt: modifiedAt ?? now,
    lastChange: 0,
  }
  mailbox.byId.set(message.immutableId, message)
  indexInternetId(mailbox, message)
  insert(mailbox.ordered, message)
  mailbox.byChange.add(message)
  enter(mailbox, message)
  log(mailbox, message, { kind: 'arrived', moved: false, isLogged: true })
  return message
}

/** Changes properties or content of a message where it is. */
export function changeMessage(mailbox: Mailbox, message: Message, changes: MessageChanges): void {
  const written = message as Writable
  const isMovedInOrder = changes.receivedAt !== undefined && changes.receivedAt !== message.receivedAt
  const hasOtherId =
    changes.internetMessageId !== undefined && changes.internetMessageId !== message.internetMessageId
  if (isMovedInOrder) for (const list of [mailbox.ordered, message.folder.ordered]) take(list, message)
  if (hasOtherId) forgetInternetId(mailbox, message)
  countUnread(message.folder, message, -1)
  Object.assign(written, changes)
  if (changes.raw !== undefined && changes.content === undefined) written.content = null
  countUnread(message.folder, message, 1)
  if (isMovedInOrder) for (const list of [mailbox.ordered, message.folder.ordered]) insert(list, message)
  if (hasOtherId) indexInternetId(mailbox, message)
  touch(mailbox, written)
  log(mailbox, message, { kind: 'changed', moved: false, isLogged: true, fields: Object.keys(changes) })
}

/** Moves a message to another folder. The id of its place changes, the immutable one stays. */
export function moveMessage(mailbox: Mailbox, message: Message, folder: Folder): void {
  const written = message as Writable
  leave(mailbox, message)
  log(mailbox, message, { kind: 'left', moved: true, isLogged: true })
  written.folder = folder
  written.id = placeId(mailbox.store, folder.number, nextNumber(mailbox))
  touch(mailbox, written)
  enter(mailbox, message)
  log(mailbox, message, { kind: 'arrived', moved: true, isLogged: mailbox.logsArrival() })
}

/** Makes a copy in a folder, which is a message of its own. */
export function copyMessage(mailbox: Mailbox, message: Message, folder: Folder): Message {
  const { raw, content, createdAt } = message
  return addMessage(mailbox, {
    folder,
    raw,
    fields: fieldsOf(message),
    createdAt,
    ...(content && { content }),
  })
}

/** Deletes a message for good: its ids find nothing from now on. */
export function removeMessage(mailbox: Mailbox, message: Message): void {
  leave(mailbox, message)
  take(mailbox.ordered, message)
  mailbox.byChange.delete(message)
  mailbox.byId.delete(message.immutableId)
  forgetInternetId(mailbox, message)
  log(mailbox, message, { kind: 'left', moved: false, isLogged: true })
}

/** Body, preview and attachments of a message. */
export function contentOf(message: Message): MessageContent {
  const written = message as Writable
  written.content ??= readContent(message)
  return written.content
}

export const bodyOf = (message: Message): Body => contentOf(message).body
export const attachmentsOf = (message: Message): readonly Attachment[] => contentOf(message).attachments

const defaultFields = (now: number): MessageFields => ({
  subject: '',
  from: null,
  sender: null,
  toRecipients: [],
  ccRecipients: [],
  bccRecipients: [],
  replyTo: [],
  sentAt: now,
  receivedAt: now,
  internetMessageId: '',
  importance: 'normal',
  isRead: false,
  isDraft: false,
  flag: { flagStatus: 'notFlagged' },
  categories: [],
  inferenceClassification: 'focused',
  isReadReceiptRequested: false,
  isDeliveryReceiptRequested: false,
  messageClass: 'IPM.Note',
  conversationId: '',
  extended: new Map(),
})

const FIELDS = Object.keys(defaultFields(0)) as (keyof MessageFields)[]

// The names are those of all fields.
const fieldsOf = (message: Message): MessageFields =>
  Object.fromEntries(FIELDS.map(name => [name, message[name]])) as unknown as MessageFields

/** The conversation of a message that this one names, under the same subject. */
function conversationOf(mailbox: Mailbox, subject: string, references: string[]): string | undefined {
  const base = baseSubject(subject)
  for (const id of references)
    for (const message of mailbox.byInternetId.get(id) ?? [])
      if (baseSubject(message.subject) === base) return message.conversationId
  return undefined
}

interface Logged extends Pick<FolderChange, 'kind' | 'moved'> {
  isLogged: boolean
  fields?: readonly string[]
}

function log(mailbox: Mailbox, message: Message, { kind, moved, isLogged, fields = [] }: Logged): void {
  const { folder } = message
  const change = { number: nextChange(mailbox), kind, moved, item: message, id: message.id, fields }
  const written = message as Writable
  written.lastChange = change.number
  if (isLogged) recordChange(folder.log, change)
  for (const listener of mailbox.listeners) listener(folder, change)
}

function touch(mailbox: Mailbox, message: Writable): void {
  message.changeKey = changeKey(nextNumber(mailbox))
  message.modifiedAt = mailbox.now()
  mailbox.byChange.delete(message)
  mailbox.byChange.add(message)
}

function enter(mailbox: Mailbox, message: Message): void {
  mailbox.byId.set(message.id, message)
  insert(message.folder.ordered, message)
  countUnread(message.folder, message, 1)
}

function leave(mailbox: Mailbox, message: Message): void {
  mailbox.byId.delete(message.id)
  take(message.folder.ordered, message)
  countUnread(message.folder, message, -1)
}

function countUnread(folder: Folder, message: Message, by: number): void {
  // Everybody else sees a folder whose fields are read-only.
  const written = folder as { -readonly [Name in keyof Folder]: Folder[Name] }
  if (!message.isRead) written.unreadCount += by
}

function indexInternetId(mailbox: Mailbox, message: Message): void {
  if (message.internetMessageId === '') return
  const known = mailbox.byInternetId.get(message.internetMessageId)
  if (known) known.add(message)
  else mailbox.byInternetId.set(message.internetMessageId, new Set([message]))
}

function forgetInternetId(mailbox: Mailbox, message: Message): void {
  const known = mailbox.byInternetId.get(message.internetMessageId)
  known?.delete(message)
  if (known?.size === 0) mailbox.byInternetId.delete(message.internetMessageId)
}

const insert = (list: Message[], message: Message): void =>
  void list.splice(placeIn(list, message), 0, message)

const take = (list: Message[], message: Message): void => void list.splice(placeIn(list, message), 1)

/** The index of a message in a list that is newest first, or the index at which it belongs. */
export function placeIn(list: readonly Message[], message: Pick<Message, 'receivedAt' | 'number'>): number {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const other = list[middle] as Message
    const isNewer =
      other.receivedAt > message.receivedAt ||
      (other.receivedAt === message.receivedAt && other.number > message.number)
    if (isNewer) low = middle + 1
    else high = middle
  }
  return low
}
