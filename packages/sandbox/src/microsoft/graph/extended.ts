import { headerOf } from '../../mail/headers.ts'
import { headersOf } from '../../mail/message-headers.ts'
import { headerEnd } from '../../mail/mime.ts'
import { isOwnReport } from '../sending/ndr.ts'
import { contentOf } from '../mailbox/messages.ts'
import type { Message } from '../mailbox/message.ts'
import { badRequest } from './errors.ts'

const TYPES = [
  'ApplicationTime',
  'ApplicationTimeArray',
  'Binary',
  'BinaryArray',
  'Boolean',
  'CLSID',
  'CLSIDArray',
  'Currency',
  'CurrencyArray',
  'Double',
  'DoubleArray',
  'Float',
  'FloatArray',
  'Integer',
  'IntegerArray',
  'Long',
  'LongArray',
  'Short',
  'ShortArray',
  'String',
  'StringArray',
  'SystemTime',
  'SystemTimeArray',
]

const ID = /^(\w+)\s+(?:0x([0-9a-f]{1,8})|\{([0-9a-f-]{36})\}\s+(?:Name\s+(\S.*)|Id\s+0x([0-9a-f]{1,8})))$/i

/**
 * The id of an extended property as Graph writes it: `String 0x1a`, `String {guid} Name name`, `Integer {guid} Id 0x1`.
 * Refuses any other text.
 */
export function propertyId(text: string): string {
  const [, given = '', tag, guid, name, number] = ID.exec(text.trim()) ?? []
  const type = TYPES.find(one => one.toLowerCase() === given.toLowerCase())
  if (type === undefined) throw badRequest(`The property id '${text}' is invalid.`, 'ErrorInvalidProperty')
  if (tag !== undefined) return `${type} ${hexOf(tag)}`
  return `${type} {${guid?.toLowerCase()}} ${name === undefined ? `Id ${hexOf(number ?? '')}` : `Name ${name}`}`
}

const hexOf = (digits: string): string => `0x${Number.parseInt(digits, 16).toString(16)}`

const headText = (raw: Buffer): string =>
  raw.subarray(0, headerEnd(raw, 0, raw.length).headersEnd).toString('latin1')

const READ = 1
const UNSENT = 8
const HAS_ATTACHMENTS = 16

/** Extended properties that Exchange keeps of every message. */
const KEPT: Readonly<Record<string, (message: Message) => string>> = {
  'String 0x1a': message => message.messageClass,
  'String 0x37': message => message.subject,
  'String 0x7d': message => (isOwnReport(message) ? '' : headText(message.raw)),
  'String 0x1035': message => message.internetMessageId,
  'String 0x1039': ({ raw }) => headerOf(headersOf(raw), 'References'),
  'String 0x1042': ({ raw }) => headerOf(headersOf(raw), 'In-Reply-To'),
  'Integer 0xe07': message =>
    String(
      (message.isRead ? READ : 0) +
        (message.isDraft ? UNSENT : 0) +
        (contentOf(message).hasAttachments ? HAS_ATTACHMENTS : 0),
    ),
  'Integer 0xe08': ({ raw }) => String(raw.length),
  'Long 0xe08': ({ raw }) => String(raw.length),
}

/** The value of an extended property; undefined if the message has none. */
export function extendedValue(message: Message, id: string): string | undefined {
  const set = message.extended.get(id)
  if (set !== undefined) return set
  const kept = KEPT[id]?.(message)
  return kept === '' ? undefined : kept
}

/** The extended properties that a `$filter` can find. */
export function* extendedProperties(message: Message): Generator<{ id: string; value: string }> {
  for (const id of new Set([...message.extended.keys(), ...Object.keys(KEPT)])) {
    const value = extendedValue(message, id)
    if (value !== undefined) yield { id, value }
  }
}

const LITERAL_ID = /'((?:[A-Za-z]+)\s+(?:0x[0-9a-f]+|\{[0-9a-f-]{36}\}\s+(?:Name|Id)\s+[^']+))'/gi

/** The filter with the ids of extended properties as Graph writes them. */
export const withPropertyIds = (filter: string): string =>
  filter.replaceAll(LITERAL_ID, (_, id: string) => `'${propertyId(id)}'`)

/** Ids that the inner `$filter` of an expanded `singleValueExtendedProperties` names. */
export function expandedIds(filter: string | undefined): string[] {
  const ids = [...(filter ?? '').matchAll(/\bid\s+eq\s+'([^']*)'/gi)].map(([, id = '']) => propertyId(id))
  if (ids.length === 0)
    throw badRequest('singleValueExtendedProperties can be expanded only with a $filter on their ids.')
  return ids
}
