import { contentOf } from '../mailbox/messages.ts'
import type { Message, Recipient } from '../mailbox/message.ts'
import { extendedProperties, withPropertyIds } from './extended.ts'
import { type Filter, type FilterSubject, parseFilter, type Value } from './odata/filter.ts'

type Kind = NonNullable<ReturnType<FilterSubject<Message>['kindOf']>>

const recipient = (name: 'from' | 'sender'): [string, Kind, (message: Message) => Value][] => [
  [`${name}/emailaddress/address`, 'text', message => message[name]?.address ?? null],
  [`${name}/emailaddress/name`, 'text', message => message[name]?.name ?? null],
]

/** Properties that a filter can compare, and by which messages can be ordered. Times keep their fractions of a second. */
const VALUES: ReadonlyMap<string, readonly [Kind, (message: Message) => Value]> = new Map(
  (
    [
      ['id', 'text', message => message.id],
      ['subject', 'text', message => message.subject],
      ['internetmessageid', 'text', message => message.internetMessageId],
      ['conversationid', 'text', message => message.conversationId],
      ['parentfolderid', 'text', message => message.folder.id],
      ['changekey', 'text', message => message.changeKey],
      ['importance', 'text', message => message.importance],
      ['inferenceclassification', 'text', message => message.inferenceClassification],
      ['flag/flagstatus', 'text', message => message.flag.flagStatus],
      ['bodypreview', 'text', message => contentOf(message).preview],
      ['body/content', 'text', message => contentOf(message).body.content],
      ['isread', 'boolean', message => message.isRead],
      ['isdraft', 'boolean', message => message.isDraft],
      ['hasattachments', 'boolean', message => contentOf(message).hasAttachments],
      ['isreadreceiptrequested', 'boolean', message => message.isReadReceiptRequested],
      ['isdeliveryreceiptrequested', 'boolean', message => message.isDeliveryReceiptRequested],
      ['receiveddatetime', 'time', message => message.receivedAt],
      ['sentdatetime', 'time', message => message.sentAt],
      ['createddatetime', 'time', message => message.createdAt],
      ['lastmodifieddatetime', 'time', message => message.modifiedAt],
      ...recipient('from'),
      ...recipient('sender'),
    ] satisfies [string, Kind, (message: Message) => Value][]
  ).map(([name, kind, read]) => [name, [kind, read]]),
)

const shaped = (recipients: readonly Recipient[]) => recipients.map(emailAddress => ({ emailAddress }))

const COLLECTIONS: Readonly<Record<string, (message: Message) => readonly unknown[]>> = {
  categories: message => message.categories,
  torecipients: message => shaped(message.toRecipients),
  ccrecipients: message => shaped(message.ccRecipients),
  bccrecipients: message => shaped(message.bccRecipients),
  replyto: message => shaped(message.replyTo),
  singlevalueextendedproperties: message => [...extendedProperties(message)],
}

const nameOf = (path: readonly string[]): string => path.join('/').toLowerCase()

const SUBJECT: FilterSubject<Message> = {
  reader: path => VALUES.get(nameOf(path))?.[1] ?? (() => null),
  lister: path => COLLECTIONS[nameOf(path)] ?? (() => []),
  kindOf: path => VALUES.get(nameOf(path))?.[0] ?? (nameOf(path) in COLLECTIONS ? 'collection' : null),
}

export const messageFilter = (text: string): Filter<Message> => parseFilter(withPropertyIds(text), SUBJECT)

export const isSortable = (property: string): boolean => VALUES.has(property) && property !== 'body/content'

export const readerOf = SUBJECT.reader
