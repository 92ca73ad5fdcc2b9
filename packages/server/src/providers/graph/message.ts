import { identityOf } from '../../kit/mime/identity.ts'
import { summarize } from '../../kit/mime/summary.ts'
import { cleanLine, collapseText, cutText } from '../../kit/mime/text.ts'
import { readDraftMark } from '../draft-mark.ts'
import type { RemoteAddress, RemoteFlags, RemoteMessage } from '../mail.ts'
import { FILES_PROPERTY, isIncomplete } from './incomplete.ts'
import type { GraphMessage, MessageState, Recipient } from './resources.ts'

const SNIPPET_LENGTH_MAX = 200
const SUBJECT_LENGTH_MAX = 4_000
const NAME_LENGTH_MAX = 1_000
const ADDRESS_LENGTH_MAX = 1_000

/** Extended properties (MS-OXPROPS): PidTagMessageSize, PidTagMessageClass, and header fields. */
const PROPERTIES = {
  size: 'Integer 0x0E08',
  class: 'String 0x001A',
  references: 'String 0x1039',
  inReplyTo: 'String 0x1042',
  draftMark: 'String {00020386-0000-0000-C000-000000000046} Name X-Waxwing-Draft',
  files: FILES_PROPERTY,
} as const

/** The parts of a message that may change while its key stays. */
export const STATE_FIELDS =
  'id,parentFolderId,receivedDateTime,lastModifiedDateTime,isRead,isDraft,flag,categories'

/** Query options of everything of a message that the index shows. */
export const MESSAGE_QUERY = {
  $select: `${STATE_FIELDS},conversationId,internetMessageId,internetMessageHeaders,subject,bodyPreview,from,sender,toRecipients,ccRecipients,bccRecipients,replyTo,sentDateTime,createdDateTime,hasAttachments,importance`,
  $expand: `singleValueExtendedProperties($filter=${Object.values(PROPERTIES)
    .map(property => `id eq '${property}'`)
    .join(' or ')})`,
}

export function toRemoteMessage(message: GraphMessage): RemoteMessage {
  const size = Number(propertyOf(message, PROPERTIES.size) ?? Number.NaN)
  const summary = summarize(headerOf(message))
  const sentAt = dateOf(message.sentDateTime) ?? summary.sentAt
  const facts = {
    internetMessageId: summary.internetMessageId,
    subject: cleanLine(message.subject ?? '', SUBJECT_LENGTH_MAX) || summary.subject,
    from: toAddress(message.from) ?? toAddress(message.sender) ?? summary.from,
    sentAt,
    receivedAt: receivedAtOf(message) ?? sentAt ?? new Date(0),
    size: Number.isSafeInteger(size) && size >= 0 ? size : null,
  }
  const importance = message.importance
  const revision = message.isDraft === true ? message['@odata.etag'] : undefined
  return {
    key: message.id,
    mailboxKeys: message.parentFolderId ? [message.parentFolderId] : [],
    identity: identityOf({ ...facts, size: facts.size ?? 0 }, message.id),
    threadId: message.conversationId ?? null,
    references: summary.references,
    inReplyTo: summary.inReplyTo,
    to: toAddresses(message.toRecipients),
    cc: toAddresses(message.ccRecipients),
    bcc: toAddresses(message.bccRecipients),
    replyTo: toAddresses(message.replyTo),
    snippet: cutText(collapseText(message.bodyPreview ?? ''), SNIPPET_LENGTH_MAX),
    hasAttachments: message.hasAttachments ?? false,
    importance: importance === 'high' || importance === 'low' ? importance : 'normal',
    draftMark: readDraftMark(summary.draftMark),
    draftKey: null,
    ...(isIncomplete(message) && { isIncomplete: true as const }),
    ...(revision !== undefined && { content: { revision, digest: null } }),
    // A report of Exchange's own is known only by its class.
    mayBeReport: summary.mayBeReport || /^report\b/i.test(propertyOf(message, PROPERTIES.class) ?? ''),
    mayBeInvitation: summary.mayBeInvitation,
    ...facts,
    ...flagsOf(message),
  }
}

/** The flags of a message, as far as they are given. */
export function flagsOf({ isRead, isDraft, flag, categories }: MessageState): RemoteFlags {
  return {
    isRead: isRead ?? false,
    isFlagged: flag?.flagStatus === 'flagged',
    isDraft: isDraft ?? false,
    categories: (categories ?? []).toSorted(),
  }
}

/** Whether all flags of a message are given. */
export function hasAllFlags({ isRead, isDraft, flag, categories }: MessageState): boolean {
  return [isRead, isDraft, flag, categories].every(value => value !== undefined && value !== null)
}

export function receivedAtOf(
  message: Pick<GraphMessage, 'receivedDateTime' | 'createdDateTime'>,
): Date | null {
  return dateOf(message.receivedDateTime) ?? dateOf(message.createdDateTime)
}

function dateOf(at: number | null | undefined): Date | null {
  return at === null || at === undefined ? null : new Date(at)
}

/** The header, so that its fields are read by the same rules as those of all providers. */
function headerOf(message: GraphMessage): Buffer {
  const fields = (message.internetMessageHeaders ?? []).map(({ name, value }) => [name, value ?? ''] as const)
  const known = new Set(fields.map(([name]) => name.toLowerCase()))
  const others = [
    ['Message-ID', message.internetMessageId],
    ['References', propertyOf(message, PROPERTIES.references)],
    ['In-Reply-To', propertyOf(message, PROPERTIES.inReplyTo)],
    ['X-Waxwing-Draft', propertyOf(message, PROPERTIES.draftMark)],
  ] as const
  const lines = [
    ...fields,
    // Exchange keeps no header of a message that was written there.
    ...others.flatMap(([name, value]) =>
      value && !known.has(name.toLowerCase()) ? [[name, value] as const] : [],
    ),
  ].map(([name, value]) => `${name}: ${value}`.replaceAll(/[\r\n]+/g, ' '))
  return Buffer.from([...lines, '', ''].join('\r\n'))
}

/** Graph writes ids of properties in its own way: `Integer 0xe08`. */
function propertyOf({ singleValueExtendedProperties: given }: GraphMessage, property: string): string | null {
  const wanted = normalized(property)
  return given?.find(({ id }) => normalized(id) === wanted)?.value ?? null
}

function normalized(property: string): string {
  return property.toLowerCase().replace(/0x0*/, '0x')
}

function toAddresses(recipients: readonly Recipient[] | null | undefined): RemoteAddress[] {
  return (recipients ?? []).flatMap(recipient => toAddress(recipient) ?? [])
}

/** Graph repeats the address as the name if there is none. */
function toAddress(recipient: Recipient): RemoteAddress | null {
  const address = cleanLine(recipient?.emailAddress?.address ?? '', ADDRESS_LENGTH_MAX)
  const name = cleanLine(recipient?.emailAddress?.name ?? '', NAME_LENGTH_MAX)
  if (address === '' && name === '') return null
  return { name: name === '' || name === address ? null : name, address }
}
