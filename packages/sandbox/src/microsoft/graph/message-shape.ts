import { headersOf } from '../../mail/message-headers.ts'
import { isOwnReport } from '../sending/ndr.ts'
import { bodyOf, contentOf } from '../mailbox/messages.ts'
import type { Body, Message, Recipient } from '../mailbox/message.ts'
import { presentAttachment } from './attachment-shape.ts'
import { expandedIds, extendedValue } from './extended.ts'
import { htmlOf, textOfHtml } from './body-text.ts'
import { type Expanded, parseExpand, parseSelect } from './odata/select.ts'
import type { Query } from './odata/query.ts'
import type { Preferences } from './prefer.ts'
import { timeText } from './message-times.ts'

/** Properties and ids of messages that a client asked for. */
export interface View {
  /** Null for the properties that come without `$select`. */
  readonly select: readonly string[] | null
  readonly expand: readonly Expanded[]
  readonly immutableIds: boolean
  readonly bodyType: 'text' | 'html' | null
}

const TYPE = 'microsoft.graph.message'

/** The properties of a message, in the order in which Graph writes them. */
const PROPERTIES: Readonly<Record<string, (message: Message, view: View) => unknown>> = {
  id: (message, view) => idOf(message, view),
  createdDateTime: ({ createdAt }) => timeText(createdAt),
  lastModifiedDateTime: ({ modifiedAt }) => timeText(modifiedAt),
  changeKey: ({ changeKey }) => changeKey,
  categories: ({ categories }) => categories,
  receivedDateTime: ({ receivedAt }) => timeText(receivedAt),
  sentDateTime: ({ sentAt }) => timeText(sentAt),
  hasAttachments: message => contentOf(message).hasAttachments,
  internetMessageId: ({ internetMessageId }) => internetMessageId,
  subject: ({ subject }) => subject,
  bodyPreview: message => contentOf(message).preview,
  importance: ({ importance }) => importance,
  parentFolderId: ({ folder }) => folder.id,
  conversationId: ({ conversationId }) => conversationId,
  conversationIndex: message => conversationIndex(message),
  isDeliveryReceiptRequested: ({ isDeliveryReceiptRequested }) => isDeliveryReceiptRequested,
  isReadReceiptRequested: ({ isReadReceiptRequested }) => isReadReceiptRequested,
  isRead: ({ isRead }) => isRead,
  isDraft: ({ isDraft }) => isDraft,
  webLink: message =>
    `https://outlook.office365.com/owa/?ItemID=${encodeURIComponent(message.id)}&exvsurl=1&viewmodel=ReadMessageItem`,
  inferenceClassification: ({ inferenceClassification }) => inferenceClassification,
  body: (message, view) => presentBody(bodyOf(message), view),
  uniqueBody: (message, view) => presentBody(bodyOf(message), view),
  sender: ({ sender }) => presentRecipient(sender),
  from: ({ from }) => presentRecipient(from),
  toRecipients: ({ toRecipients }) => toRecipients.map(presentRecipient),
  ccRecipients: ({ ccRecipients }) => ccRecipients.map(presentRecipient),
  bccRecipients: ({ bccRecipients }) => bccRecipients.map(presentRecipient),
  replyTo: ({ replyTo }) => replyTo.map(presentRecipient),
  flag: ({ flag }) => ({ ...flag.dates, flagStatus: flag.flagStatus }),
  internetMessageHeaders: message => (isOwnReport(message) ? undefined : headersOf(message.raw)),
}

/** Properties that come only when `$select` names them. */
const SELECTED_ONLY: ReadonlySet<string> = new Set(['uniqueBody', 'internetMessageHeaders'])
const NAMES = Object.keys(PROPERTIES)
const DEFAULT_NAMES = NAMES.filter(name => !SELECTED_ONLY.has(name))
const NAVIGATIONS = [
  'attachments',
  'singleValueExtendedProperties',
  'multiValueExtendedProperties',
  'extensions',
]

/** Reads `$select`, `$expand` and the preferences of a request. */
export function viewOf(query: Query, prefer: Preferences): View {
  return {
    select: parseSelect(query.options.get('select'), [...NAMES, ...NAVIGATIONS], TYPE),
    expand: parseExpand(query.options.get('expand'), NAVIGATIONS, TYPE),
    immutableIds: prefer.immutableIds,
    bodyType: prefer.bodyType,
  }
}

/** The view of a message that was written: all properties, with the ids that the client prefers. */
export const wholeView = ({ immutableIds, bodyType }: Preferences): View => ({
  select: null,
  expand: [],
  immutableIds,
  bodyType,
})

const idOf = (message: Message, { immutableIds }: Pick<View, 'immutableIds'>): string =>
  immutableIds ? message.immutableId : message.id

export const etagOf = ({ changeKey }: { readonly changeKey: string }): string => `W/"${changeKey}"`

/** Types of messages about meetings, by their message class. */
const MEETINGS: Readonly<Record<string, { type: string; is: string }>> = {
  'IPM.Schedule.Meeting.Request': { type: 'eventMessageRequest', is: 'meetingRequest' },
  'IPM.Schedule.Meeting.Canceled': { type: 'eventMessage', is: 'meetingCancelled' },
  'IPM.Schedule.Meeting.Resp.Pos': { type: 'eventMessageResponse', is: 'meetingAccepted' },
}

/** A message as Graph answers it. */
export function presentMessage(message: Message, view: View): Record<string, unknown> {
  const meeting = MEETINGS[message.messageClass]
  const shown: Record<string, unknown> = {
    ...(meeting && { '@odata.type': `#microsoft.graph.${meeting.type}` }),
    '@odata.etag': etagOf(message),
  }
  for (const name of view.select ?? DEFAULT_NAMES) {
    const present = PROPERTIES[name]
    if (present) shown[name] = present(message, view)
  }
  if (meeting && view.select === null)
    Object.assign(shown, { meetingMessageType: meeting.is, isOutOfDate: false })
  for (const expanded of view.expand) {
    const value = presentExpanded(message, expanded)
    if (value !== undefined) shown[expanded.name] = value
  }
  return shown
}

/** Only a few properties of a message: a delta may leave out those that did not change. */
export const presentSparse = (message: Message, view: View): Record<string, unknown> => ({
  '@odata.etag': etagOf(message),
  id: idOf(message, view),
  parentFolderId: message.folder.id,
  isRead: message.isRead,
})

function presentExpanded(message: Message, { name, options }: Expanded): unknown {
  if (name === 'attachments')
    return contentOf(message).attachments.map(one => presentAttachment(one, options.get('select')))
  if (name !== 'singleValueExtendedProperties') return []
  const properties = expandedIds(options.get('filter')).flatMap(id => {
    const value = extendedValue(message, id)
    return value === undefined ? [] : [{ id, value }]
  })
  // A message that has none of them does not have the collection.
  return properties.length > 0 ? properties : undefined
}

/** Graph makes HTML of a plain text unless the client prefers text. */
function presentBody({ contentType, content }: Body, { bodyType }: View): Body {
  if (bodyType === 'text')
    return { contentType: 'text', content: contentType === 'html' ? textOfHtml(content) : content }
  return { contentType: 'html', content: contentType === 'html' ? content : htmlOf(content) }
}

const presentRecipient = (recipient: Recipient | null): object | null =>
  recipient && { emailAddress: { name: recipient.name || recipient.address, address: recipient.address } }

/** A place in a conversation (MS-OXOMSG 2.2.1.3): a byte, a time of 5 bytes, and 16 bytes of the conversation. */
function conversationIndex({ conversationId, sentAt }: Message): string {
  const index = Buffer.alloc(22)
  index.writeUInt8(1, 0)
  index.writeUIntBE(Math.floor(sentAt / 1000), 1, 5)
  index.write(conversationId.slice(-20, -4), 6, 'latin1')
  return index.toString('base64')
}
