import { type FieldName, HEADER_BYTES_MAX, readHeader } from '../../../kit/mime/header.ts'
import { readIds } from '../../../kit/mime/message-ids.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { Refusal, refuse } from '../../../calls/refuse.ts'
import { listAttachments, openAttachment } from '../../mail/content/attachment.ts'
import type { ReadContext } from '../../mail/content/body.ts'
import { openSource } from '../../mail/content/source.ts'
import { type FullRow, findMessage } from '../../mail/messages/store.ts'
import type { AttachedFile } from './attached.ts'
import type { ThreadFields } from './rules.ts'

/**
 * The fields of a message that a reply to it repeats, from its header. If the provider does not hand it out now, its
 * Message-ID alone, which the index has: the reply is still one.
 */
export async function readThreadFields(
  content: ReadContext,
  account: AccountView,
  original: FullRow,
): Promise<ThreadFields> {
  try {
    return await readOwnFields(content, account, original)
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    return { messageId: original.internet_message_id, references: null, inReplyTo: null }
  }
}

/** The same fields; refuses if the provider does not hand out the message. */
export async function readOwnFields(
  content: ReadContext,
  account: AccountView,
  message: FullRow,
): Promise<ThreadFields> {
  const fields = await readFields(await openSource(content, account, message))
  const valueOf = (name: FieldName) => fields.get(name) ?? null
  return {
    messageId: message.internet_message_id ?? readIds(valueOf('message-id'))[0] ?? null,
    references: valueOf('references'),
    inReplyTo: valueOf('in-reply-to'),
  }
}

async function readFields(source: AsyncIterable<Buffer>): Promise<Map<FieldName, string>> {
  let text = ''
  for await (const piece of source) {
    text += piece.toString('latin1')
    const header = readHeader(text, 0, text.length)
    if (header.isComplete || text.length >= HEADER_BYTES_MAX) return header.fields
  }
  return readHeader(text, 0, text.length).fields
}

/** An attachment of a message, with the traits that replace its own. */
export interface AttachmentReference {
  messageId: string
  attachmentId: string
  filename?: string | null | undefined
  contentType?: string | null | undefined
  contentId?: string | null | undefined
  isInline?: boolean | undefined
}

/** An attachment of a message of the account. Refuses one that does not exist: `unknown_message`. */
export async function referredFile(
  content: ReadContext,
  account: AccountView,
  reference: AttachmentReference,
): Promise<AttachedFile> {
  const message =
    (await findMessage(content.db, account.id, reference.messageId)) ?? refuse('unknown_message')
  const attachments = await listAttachments(content, account, message)
  const found = attachments?.find(({ id }) => id === reference.attachmentId)
  if (!found) return refuse('unknown_message', undefined, { message: 'The message has no such attachment.' })
  return {
    filename: reference.filename ?? found.filename,
    contentType: reference.contentType ?? found.contentType,
    contentId: reference.contentId ?? null,
    isInline: reference.isInline ?? false,
    byteLength: found.size,
    open: () => openAgain(content, account, message, found.id),
  }
}

/** All attachments of a message that is forwarded, as they are. */
export async function forwardedFiles(
  content: ReadContext,
  account: AccountView,
  message: FullRow,
): Promise<AttachedFile[]> {
  const attachments = await listAttachments(content, account, message)
  // Without them it would be another message.
  if (!attachments)
    return refuse('attachments_too_large', undefined, { message: 'The forwarded message is too large.' })
  return attachments.map(({ id, filename, contentType, contentId, isInline, size }) => ({
    filename,
    contentType,
    contentId,
    isInline: isInline && contentId !== null,
    byteLength: size,
    open: () => openAgain(content, account, message, id),
  }))
}

async function* openAgain(content: ReadContext, account: AccountView, message: FullRow, id: string) {
  yield* (await openAttachment(content, account, message, id)).content
}
