import { writeAddresses } from '../../mail/addresses.ts'
import { headerOf } from '../../mail/headers.ts'
import { dateText, headersOf, withHeaders } from '../../mail/message-headers.ts'
import { newMessageId } from '../sending/message-id.ts'
import { wellKnownFolder } from '../mailbox/mailbox.ts'
import type { Folder, Message, MessageFields } from '../mailbox/message.ts'
import { addMessage, removeMessage } from '../mailbox/messages.ts'
import type { WrittenMessage } from '../mailbox/mime-out.ts'
import { attach } from './attach.ts'
import { badRequest } from './errors.ts'
import { type MessageInput, readMessage } from './message-input.ts'
import { etagOf, presentMessage, wholeView } from './message-shape.ts'
import { requireFolder } from './messages.ts'
import { created, type GraphAnswer, type GraphMethod, type MethodCall, WRITE } from './method.ts'
import { contextOf } from './odata/paging.ts'
import { writeInput } from './write-input.ts'

/** Bytes of MIME beyond which no message is made, although the answer is 200. */
const MIME_BYTES_MAX = 2_240 * 1024

export const draftMethods: readonly GraphMethod[] = ['messages', 'mailFolders/{folder}/messages'].map(
  (path): GraphMethod => ({ http: 'POST', path, scopes: WRITE, run: createDraft }),
)

function createDraft(call: MethodCall): GraphAnswer {
  const { mailbox, params } = call
  const folder =
    params['folder'] === undefined
      ? wellKnownFolder(mailbox, 'drafts')
      : requireFolder(call, params['folder'])
  if (!isMime(call)) return createdAnswer(call, addDraft(call, folder, readMessage(call.json()), null))
  const raw = mimeIn(call)
  return raw === null ? { status: 200 } : createdAnswer(call, addMimeDraft(call, folder, raw))
}

/** The answer to a call that made a message. */
export function createdAnswer(call: MethodCall, message: Message): GraphAnswer {
  const answer = created({
    '@odata.context': contextOf(
      call.url,
      `users('${encodeURIComponent(call.mailbox.email)}')/messages/$entity`,
    ),
    ...presentMessage(message, wholeView(call.prefer)),
  })
  return { ...answer, headers: { etag: etagOf(message) } }
}

/** Whether the body of a call is MIME and not JSON. */
export const isMime = ({ headers }: Pick<MethodCall, 'headers'>): boolean =>
  /^text\/plain\b/i.test(headers.get('content-type') ?? '')

/** The MIME of a call, which comes as base64; null if it is so large that Graph makes no message of it. */
export function mimeIn({ bytes, graph }: MethodCall): Buffer | null {
  const text = bytes.toString('latin1').replaceAll(/\s+/g, '')
  if (text === '' || !/^[A-Za-z0-9+/]*={0,2}$/.test(text))
    throw badRequest('Invalid base64 string for MIME content.', 'ErrorMimeContentInvalidBase64String')
  const raw = Buffer.from(text, 'base64')
  if (headersOf(raw).length === 0) throw badRequest('The MIME content is invalid.', 'ErrorMimeContentInvalid')
  return raw.length > MIME_BYTES_MAX && graph.writing.settings.mimeVanishes ? null : raw
}

/** Adds the headers that MIME has to have if they are missing: From, Message-ID and Date. */
export function completeMime({ graph, mailbox }: MethodCall, raw: Buffer): Buffer {
  const headers = headersOf(raw)
  const add: string[] = []
  if (headerOf(headers, 'From') === '')
    add.push(`From: ${writeAddresses([{ name: mailbox.name, address: mailbox.email }])}`)
  if (headerOf(headers, 'Message-ID') === '') add.push(`Message-ID: ${newMessageId(graph.writing.unique())}`)
  if (headerOf(headers, 'Date') === '') add.push(`Date: ${dateText(mailbox.now())}`)
  return add.length > 0 ? withHeaders(raw, { remove: [], add }) : raw
}

const addMimeDraft = (call: MethodCall, folder: Folder, raw: Buffer): Message =>
  addMessage(call.mailbox, {
    folder,
    raw: completeMime(call, raw),
    fields: { isDraft: true, isRead: true },
  })

/** Properties of a new message that its MIME does not give. */
export const ownFields = ({ fields, extended }: MessageInput): Partial<MessageFields> => ({
  ...(fields.flag && { flag: fields.flag }),
  ...(fields.categories && { categories: fields.categories }),
  ...(fields.inferenceClassification && { inferenceClassification: fields.inferenceClassification }),
  extended,
})

/** Makes a draft of what a client wrote. `answers` names the message that it answers. */
export function addDraft(
  call: MethodCall,
  folder: Folder,
  input: MessageInput,
  answers: WrittenMessage['answers'],
): Message {
  const { mailbox } = call
  const message = addMessage(mailbox, {
    folder,
    raw: writeInput(call, input, answers),
    fields: { ...ownFields(input), isDraft: true, isRead: input.fields.isRead ?? true },
  })
  try {
    for (const attachment of input.attachments) attach(call, message, attachment)
  } catch (error) {
    removeMessage(mailbox, message)
    throw error
  }
  return message
}
