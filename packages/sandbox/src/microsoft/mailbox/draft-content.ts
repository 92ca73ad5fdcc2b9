import { withHeaders } from '../../mail/message-headers.ts'
import { readContent } from './content.ts'
import { attachmentId } from './ids.ts'
import { type Mailbox, nextNumber } from './mailbox.ts'
import type { Attachment, Body, Message, MessageFields } from './message.ts'
import { attachmentsOf, changeMessage, type MessageChanges } from './messages.ts'
import { fieldLines, type NewAttachment, writeAttachment, writeBody } from './mime-out.ts'
import { putTogether, takeApart, withoutAttachment } from './mime-parts.ts'

/** Names of the headers that carry a property, in lower case. */
const HEADERS: Readonly<Record<string, readonly string[]>> = {
  subject: ['subject'],
  from: ['from', 'sender'],
  sender: ['sender'],
  toRecipients: ['to'],
  ccRecipients: ['cc'],
  bccRecipients: ['bcc'],
  replyTo: ['reply-to'],
  importance: ['importance', 'x-priority'],
  isReadReceiptRequested: ['disposition-notification-to'],
  isDeliveryReceiptRequested: ['return-receipt-to'],
  internetMessageId: ['message-id'],
}

/** Changes a draft: its MIME gets the new properties and the new body, and otherwise stays the same. */
export function changeDraft(
  mailbox: Mailbox,
  message: Message,
  fields: Partial<MessageFields>,
  body: Body | undefined,
  boundary: () => string,
): void {
  const whole = { ...message, ...fields }
  const lines: Record<string, string | null> = {
    ...fieldLines(whole),
    'message-id': `Message-ID: ${whole.internetMessageId}`,
  }
  const names = [...new Set(Object.keys(fields).flatMap(name => HEADERS[name] ?? []))]
  if (names.length === 0 && !body) return changeMessage(mailbox, message, fields)
  const headed = withHeaders(message.raw, { remove: names, add: names.flatMap(name => lines[name] ?? []) })
  const raw = body ? putTogether({ ...takeApart(headed), text: writeBody(body, boundary) }, boundary) : headed
  changeMessage(mailbox, message, { ...fields, ...rewritten(message, raw) })
}

/** Attaches a file or a message to a draft. Returns the attachment as it is listed. */
export function addAttachment(
  mailbox: Mailbox,
  message: Message,
  attachment: NewAttachment,
  boundary: () => string,
): Attachment {
  const pieces = takeApart(message.raw)
  const piece = writeAttachment(attachment)
  const { attached } = pieces
  // Attachments beside the text come before those below it.
  const at = piece.isBeside ? attached.filter(({ isBeside }) => isBeside).length : attached.length
  const nth = attached.slice(0, at).reduce((sum, one) => sum + one.attachments, pieces.attachmentsWithin)
  const raw = putTogether({ ...pieces, attached: attached.toSpliced(at, 0, piece) }, boundary)
  changeMessage(mailbox, message, rewritten(message, raw))
  const added = attachmentsOf(message)[nth]
  if (!added) throw new Error('a new attachment is not in its message')
  return added
}

/** Attaches a link or an item that is not a message, which MIME cannot carry. */
export function addOutsideMime(
  mailbox: Mailbox,
  message: Message,
  attachment: Attachment extends infer One ? (One extends Attachment ? Omit<One, 'id'> : never) : never,
): Attachment {
  const id = attachmentId(message.immutableId, OUTSIDE_FROM + nextNumber(mailbox))
  // The kinds stay as they are; a spread loses them.
  const added = { ...attachment, id } as Attachment
  const content = readContent(message)
  const kept = attachmentsOf(message).filter(isOutsideMime)
  changeMessage(mailbox, message, { raw: message.raw, content: withAttachments(content, [...kept, added]) })
  return added
}

/** First number in ids of attachments that are not in the MIME. It is greater than the numbers of the others. */
const OUTSIDE_FROM = 1_000_000

/** Takes an attachment from a message. Returns false if it is inside the body and stays. */
export function removeAttachment(
  mailbox: Mailbox,
  message: Message,
  attachment: Attachment,
  boundary: () => string,
): boolean {
  const all = attachmentsOf(message)
  if (isOutsideMime(attachment)) {
    const kept = all.filter(one => one !== attachment && isOutsideMime(one))
    changeMessage(mailbox, message, {
      raw: message.raw,
      content: withAttachments(readContent(message), kept),
    })
    return true
  }
  const pieces = withoutAttachment(takeApart(message.raw), all.indexOf(attachment))
  if (pieces) changeMessage(mailbox, message, rewritten(message, putTogether(pieces, boundary)))
  return pieces !== null
}

const isOutsideMime = (attachment: Attachment): boolean =>
  attachment.kind === 'reference' || (attachment.kind === 'item' && attachment.mime === null)

/** New MIME of a message, whose other attachments stay. */
export function rewritten(message: Message, raw: Buffer): Pick<MessageChanges, 'raw' | 'content'> {
  const kept = attachmentsOf(message).filter(isOutsideMime)
  if (kept.length === 0) return { raw }
  const { immutableId, createdAt } = message
  return { raw, content: withAttachments(readContent({ raw, immutableId, createdAt }), kept) }
}

function withAttachments(
  content: ReturnType<typeof readContent>,
  more: readonly Attachment[],
): ReturnType<typeof readContent> {
  const attachments = [...content.attachments, ...more]
  return { ...content, attachments, hasAttachments: attachments.some(({ isInline }) => !isInline) }
}
