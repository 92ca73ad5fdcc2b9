import type { Mailbox } from '../mailbox/mailbox.ts'
import type { Message } from '../mailbox/message.ts'
import { FORMATS, presentAttachment, presentMessage, type Format } from '../payload.ts'
import { wordIn } from '../../google/api/input.ts'
import { METADATA_READERS, READERS, seesOnlyMetadata, type GmailMethod, type MethodCall } from './method.ts'
import { LIST_QUERY, pageOf } from './pages.ts'
import { forbidden, invalidArgument, notFound } from '../../google/api/refusal.ts'
import { SHAPES } from './shapes.ts'

export const messageMethods: readonly GmailMethod[] = [
  {
    id: 'messages.list',
    http: 'GET',
    path: 'messages',
    scopes: METADATA_READERS,
    query: LIST_QUERY,
    answer: SHAPES.messages,
    run: listMessages,
  },
  {
    id: 'messages.get',
    http: 'GET',
    path: 'messages/{id}',
    scopes: METADATA_READERS,
    query: ['format', 'metadataHeaders'],
    answer: SHAPES.message,
    run: getMessage,
  },
  {
    id: 'messages.attachments.get',
    http: 'GET',
    path: 'messages/{messageId}/attachments/{id}',
    scopes: READERS,
    answer: SHAPES.attachment,
    run: getAttachment,
  },
]

export function requireMessage(mailbox: Mailbox, id: string | undefined): Message {
  const message = mailbox.messages.get(id ?? '')
  if (!message) throw notFound()
  return message
}

function listMessages(call: MethodCall): object {
  const { messages, ...page } = pageOf(call, [], 'message')
  const shown = call.gmail.settings.disorderedLists ? disordered(messages) : messages
  return {
    ...(shown.length > 0 && { messages: shown.map(({ id, threadId }) => ({ id, threadId })) }),
    ...page,
  }
}

/** Swaps every third message with the one after it. */
function disordered(messages: Message[]): Message[] {
  const mixed = [...messages]
  for (let at = 0; at + 1 < mixed.length; at += 3)
    [mixed[at], mixed[at + 1]] = [mixed[at + 1] as Message, mixed[at] as Message]
  return mixed
}

/** The format that a call asks for, if its scopes allow it. */
export function formatIn(call: MethodCall): Format {
  const format = wordIn(call.query, 'format', FORMATS, 'full')
  if (!seesOnlyMetadata(call.caller)) return format
  if (format === 'full' || format === 'raw')
    throw forbidden(`Metadata scope doesn't allow format ${format.toUpperCase()}`)
  return format
}

function getMessage(call: MethodCall): object {
  const { mailbox, params, query, gmail } = call
  const format = formatIn(call)
  const message = requireMessage(mailbox, params.id)
  return presentMessage(message, format, query.getAll('metadataHeaders'), gmail.random)
}

function getAttachment({ mailbox, params }: MethodCall): object {
  const message = requireMessage(mailbox, params.messageId)
  const attachment = presentAttachment(message, params.id as string)
  if (!attachment) throw invalidArgument('Invalid attachment token')
  return attachment
}
