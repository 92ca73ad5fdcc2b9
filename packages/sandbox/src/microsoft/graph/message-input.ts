import type { Body, Flag, MessageFields, Recipient } from '../mailbox/message.ts'
import { badRequest, GraphRefusal } from './errors.ts'
import { propertyId } from './extended.ts'

/** A message as a client writes it in JSON. */
export interface MessageInput {
  fields: Partial<MessageFields>
  body?: Body
  headers: { name: string; value: string }[]
  attachments: Record<string, unknown>[]
  /** Extended properties with one value, by their normalized ids. */
  extended: ReadonlyMap<string, string>
}

const HEADERS_MAX = 5
const IMPORTANCES = ['low', 'normal', 'high'] as const
const FLAGS = ['notFlagged', 'flagged', 'complete'] as const
const CLASSES = ['focused', 'other'] as const
const BODY_TYPES = ['text', 'html'] as const

type Read = (value: unknown, name: string) => unknown

/** The properties that a client may write, with how each is read. */
const FIELDS: Readonly<Record<string, Read>> = {
  subject: text,
  from: recipientOrNull,
  sender: recipientOrNull,
  toRecipients: recipients,
  ccRecipients: recipients,
  bccRecipients: recipients,
  replyTo: recipients,
  internetMessageId: (value, name) => text(value, name).replaceAll(/\s+/g, ''),
  importance: (value, name) => word(value, name, IMPORTANCES),
  isRead: boolean,
  flag,
  categories: texts,
  inferenceClassification: (value, name) => word(value, name, CLASSES),
  isReadReceiptRequested: boolean,
  isDeliveryReceiptRequested: boolean,
}

/** Properties that clients send back as they read them, and that Graph ignores. */
const PASSED_OVER = new Set(
  'id createdDateTime lastModifiedDateTime changeKey receivedDateTime sentDateTime hasAttachments bodyPreview parentFolderId conversationId conversationIndex isDraft webLink uniqueBody multiValueExtendedProperties extensions'.split(
    ' ',
  ),
)

/** Reads the properties of a message. A property that messages do not have is refused. */
export function readMessage(json: Record<string, unknown>): MessageInput {
  const input: MessageInput = { fields: {}, headers: [], attachments: [], extended: new Map() }
  const fields: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(json)) {
    if (name.includes('@') || PASSED_OVER.has(name)) continue
    const read = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined
    if (read) fields[name] = read(value, name)
    else if (name === 'body') input.body = bodyIn(value)
    else if (name === 'internetMessageHeaders') input.headers = headersIn(value)
    else if (name === 'attachments') input.attachments = objects(value, name)
    else if (name === 'singleValueExtendedProperties') input.extended = extendedIn(value)
    else throw unknownProperty(name)
  }
  // Each value was read by the reader of its name.
  input.fields = fields as Partial<MessageFields>
  return input
}

export const unknownProperty = (name: string, type = 'message'): GraphRefusal =>
  badRequest(
    `The property '${name}' does not exist on type 'microsoft.graph.${type}'. Make sure to only use property names that are defined by the type.`,
    'RequestBodyRead',
  )

export const wrongValue = (name: string): GraphRefusal =>
  badRequest(`Cannot convert the value of the property '${name}' to its type.`, 'RequestBodyRead')

export function objectIn(value: unknown, name: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrongValue(name)
  return value as Record<string, unknown>
}

export function objects(value: unknown, name: string): Record<string, unknown>[] {
  if (!Array.isArray(value)) throw wrongValue(name)
  return value.map(item => objectIn(item, name))
}

export function text(value: unknown, name: string): string {
  if (value === null || value === undefined) return ''
  if (typeof value !== 'string') throw wrongValue(name)
  return value
}

export function texts(value: unknown, name: string): string[] {
  if (!Array.isArray(value)) throw wrongValue(name)
  // Names of categories are compared without regard to case.
  return [...new Map(value.map(item => [text(item, name).toLowerCase(), text(item, name)])).values()]
}

export function boolean(value: unknown, name: string): boolean {
  if (typeof value !== 'boolean') throw wrongValue(name)
  return value
}

/** One of the words of an enumeration, whatever its case. */
export function word<T extends string>(value: unknown, name: string, words: readonly T[]): T {
  const found = words.find(one => typeof value === 'string' && one.toLowerCase() === value.toLowerCase())
  if (found === undefined) throw wrongValue(name)
  return found
}

function recipients(value: unknown, name: string): Recipient[] {
  return objects(value ?? [], name).map(item => recipient(item, name))
}

function recipientOrNull(value: unknown, name: string): Recipient | null {
  return value === null ? null : recipient(objectIn(value, name), name)
}

export function recipient({ emailAddress }: Record<string, unknown>, name: string): Recipient {
  const given = objectIn(emailAddress, name)
  const address = text(given['address'], name).trim()
  if (/[\s<>,;]/.test(address)) throw wrongValue(name)
  return { name: text(given['name'], name) || address, address }
}

function flag(value: unknown, name: string): Flag {
  const { flagStatus, ...dates } = objectIn(value, name)
  const status = word(flagStatus ?? 'notFlagged', name, FLAGS)
  return { flagStatus: status, ...(status !== 'notFlagged' && Object.keys(dates).length > 0 && { dates }) }
}

export function bodyIn(value: unknown): Body {
  const { contentType = 'text', content } = objectIn(value, 'body')
  return { contentType: word(contentType, 'body', BODY_TYPES), content: text(content, 'body') }
}

function headersIn(value: unknown): { name: string; value: string }[] {
  const headers = objects(value, 'internetMessageHeaders').map(header => ({
    name: text(header['name'], 'internetMessageHeaders'),
    value: text(header['value'], 'internetMessageHeaders').replaceAll(/[\r\n]+/g, ' '),
  }))
  const wrong = headers.find(({ name }) => !/^x-[\w-]+$/i.test(name))
  if (wrong)
    throw badRequest(
      `The internet message header name '${wrong.name}' should start with 'x-' or 'X-'.`,
      'InvalidInternetMessageHeader',
    )
  if (headers.length > HEADERS_MAX)
    throw badRequest(
      `Maximum number of headers in one message should be less than or equal to ${HEADERS_MAX}.`,
      'InvalidInternetMessageHeaderCollection',
    )
  return headers
}

/** Extended properties with one value, by their normalized ids. */
export const extendedIn = (value: unknown): ReadonlyMap<string, string> =>
  new Map(
    objects(value, 'singleValueExtendedProperties').map(item => [
      propertyId(text(item['id'], 'singleValueExtendedProperties')),
      text(item['value'], 'singleValueExtendedProperties'),
    ]),
  )
