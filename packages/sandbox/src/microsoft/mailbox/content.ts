import { type Header, headerOf, parseParameters } from '../../mail/headers.ts'
import { headersOf } from '../../mail/message-headers.ts'
import { isAttachment, ownPartsOf, parseMessage, type Part, partBytes } from '../../mail/mime.ts'
import { textOf } from '../../mail/snippet.ts'
import { attachmentId } from './ids.ts'
import type { Attachment, Body, Message, MessageContent, MessageFields } from './message.ts'
import { parseRecipients } from './recipients.ts'

const PREVIEW_CHARACTERS = 255

/** The properties of a message that its headers give. */
export function fieldsOfMime(headers: Header[]): Partial<MessageFields> {
  const recipients = (name: string) => parseRecipients(headerOf(headers, name))
  const [from = null] = recipients('From')
  const [sender = from] = recipients('Sender')
  const sentAt = Date.parse(headerOf(headers, 'Date'))
  return {
    subject: headerOf(headers, 'Subject').trim(),
    from,
    sender,
    toRecipients: recipients('To'),
    ccRecipients: recipients('Cc'),
    bccRecipients: recipients('Bcc'),
    replyTo: recipients('Reply-To'),
    ...(Number.isFinite(sentAt) && { sentAt }),
    internetMessageId: headerOf(headers, 'Message-ID').trim(),
    importance: importanceOf(headers),
    isReadReceiptRequested: headerOf(headers, 'Disposition-Notification-To') !== '',
    isDeliveryReceiptRequested: headerOf(headers, 'Return-Receipt-To') !== '',
    messageClass: messageClassOf(headers),
  }
}

function importanceOf(headers: Header[]): MessageFields['importance'] {
  const importance = headerOf(headers, 'Importance').trim().toLowerCase()
  const priority = headerOf(headers, 'X-Priority').trim()
  if (importance === 'high' || /^[12]/.test(priority)) return 'high'
  if (importance === 'low' || /^[45]/.test(priority)) return 'low'
  return 'normal'
}

/** Exchange gives reports a class of their own. */
function messageClassOf(headers: Header[]): string {
  const { value, parameters } = parseParameters(headerOf(headers, 'Content-Type'))
  if (value === 'multipart/report' && parameters.get('report-type') === 'delivery-status')
    return 'REPORT.IPM.Note.NDR'
  return 'IPM.Note'
}

/** Reads body and attachments of a message from its MIME. */
export function readContent(message: Pick<Message, 'raw' | 'immutableId' | 'createdAt'>): MessageContent {
  const { raw } = message
  const root = parseMessage(raw)
  const attachments = [...topParts(root)].map((part, nth) => attachmentOf(message, part, nth))
  return {
    body: bodyOf(raw, root),
    preview: previewOf(textOf(raw, root)),
    attachments,
    hasAttachments: attachments.some(({ isInline }) => !isInline),
  }
}

/** The words that begin a text. */
const previewOf = (text: string): string => text.replaceAll(/\s+/g, ' ').trim().slice(0, PREVIEW_CHARACTERS)

/** Graph shows the HTML part of a message if there is one. */
function bodyOf(raw: Buffer, root: Part): Body {
  const texts = [...ownPartsOf(root)].filter(part => part.parts.length === 0 && !isAttachment(part))
  const html = texts.find(part => part.mimeType === 'text/html')
  if (html) return { contentType: 'html', content: textIn(raw, html) }
  const plain = texts.find(part => part.mimeType === 'text/plain')
  return { contentType: 'text', content: plain ? textIn(raw, plain) : '' }
}

const textIn = (raw: Buffer, part: Part): string => partBytes(raw, part).toString('utf8')

/** The attached parts, without those of an attached message. */
function* topParts(part: Part): Generator<Part> {
  if (part.mimeType === 'message/rfc822' && part.partId !== '') yield part
  else if (isAttachment(part)) yield part
  else for (const child of part.parts) yield* topParts(child)
}

function attachmentOf(
  message: Pick<Message, 'raw' | 'immutableId' | 'createdAt'>,
  part: Part,
  nth: number,
): Attachment {
  const { raw } = message
  const bytes = partBytes(raw, part)
  const disposition = parseParameters(headerOf(part.headers, 'Content-Disposition')).value
  const contentId = headerOf(part.headers, 'Content-ID').trim().replaceAll(/^<|>$/g, '')
  const base = {
    id: attachmentId(message.immutableId, nth),
    contentType: part.mimeType,
    size: bytes.length,
    isInline: disposition === 'inline' && contentId !== '',
    contentId: contentId || null,
    modifiedAt: message.createdAt,
  }
  if (part.mimeType !== 'message/rfc822')
    return { ...base, kind: 'file', name: part.filename || 'attachment', bytes }
  const subject = headerOf(headersOf(bytes), 'Subject')
  return { ...base, kind: 'item', name: subject || part.filename || 'message', mime: bytes, item: {} }
}
