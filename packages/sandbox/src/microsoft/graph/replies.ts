import { headersOf, referencesOf } from '../../mail/message-headers.ts'
import { headerOf, messageIdsIn } from '../../mail/headers.ts'
import { wellKnownFolder } from '../mailbox/mailbox.ts'
import type { Body, Message, Recipient } from '../mailbox/message.ts'
import { attachmentsOf, bodyOf } from '../mailbox/messages.ts'
import { addAttachment } from '../mailbox/draft-content.ts'
import { htmlOf } from './body-text.ts'
import { addDraft, createdAnswer } from './drafts.ts'
import { badRequest } from './errors.ts'
import { type MessageInput, objectIn, readMessage, wrongValue } from './message-input.ts'
import { MESSAGE_PATHS, requireMessage } from './messages.ts'
import { type GraphAnswer, type GraphMethod, type MethodCall, WRITE } from './method.ts'
import { SEND, sendThrough } from './send.ts'

type Way = 'reply' | 'replyAll' | 'forward'

const MADE: readonly (readonly [string, Way])[] = [
  ['createReply', 'reply'],
  ['createReplyAll', 'replyAll'],
  ['createForward', 'forward'],
]
const SENT: readonly Way[] = ['reply', 'replyAll', 'forward']

/** Methods that make answers and forwards, as drafts or sent at once. */
export const replyMethods: readonly GraphMethod[] = MESSAGE_PATHS.flatMap((path): GraphMethod[] => [
  ...MADE.map(([name, way]): GraphMethod => ({
    http: 'POST',
    path: `${path}/${name}`,
    scopes: WRITE,
    run: call => createdAnswer(call, answer(call, way)),
  })),
  ...SENT.map((way): GraphMethod => ({
    http: 'POST',
    path: `${path}/${way}`,
    scopes: SEND,
    run(call): GraphAnswer {
      sendThrough(call, answer(call, way), true)
      return { status: 202 }
    },
  })),
])

function answer(call: MethodCall, way: Way): Message {
  const { mailbox, bytes } = call
  const original = requireMessage(call)
  const json = bytes.length === 0 ? {} : call.json()
  const comment = json['comment'] ?? json['Comment'] ?? ''
  if (typeof comment !== 'string') throw wrongValue('comment')
  const given = readMessage(objectIn(json['message'] ?? json['Message'] ?? {}, 'message'))
  if (comment !== '' && given.body)
    throw badRequest('A comment and the body of a message exclude each other.', 'ErrorInvalidArgument')
  const { fields } = given
  const to = json['toRecipients'] ?? json['ToRecipients']
  const named = to === undefined ? {} : readMessage({ toRecipients: to }).fields
  const input: MessageInput = {
    ...given,
    fields: {
      subject: `${way === 'forward' ? 'FW' : 'RE'}: ${original.subject.replace(/^(?:(?:re|fwd?):\s*)+/i, '')}`,
      ...recipientsOf(original, way, mailbox.email),
      ...fields,
      ...named,
    },
    body: given.body ?? quote(original, comment),
  }
  const draft = addDraft(call, wellKnownFolder(mailbox, 'drafts'), input, answersOf(original))
  bringAttachments(call, original, draft, way)
  return draft
}

/** An answer brings the pictures of the page that it quotes, a forward everything. */
function bringAttachments({ mailbox, graph }: MethodCall, original: Message, draft: Message, way: Way): void {
  for (const attachment of attachmentsOf(original)) {
    if (attachment.kind === 'reference' || (way !== 'forward' && !attachment.isInline)) continue
    const bytes = attachment.kind === 'file' ? attachment.bytes : attachment.mime
    if (!bytes) continue
    const { kind, name, contentType, contentId, isInline } = attachment
    const brought = { kind, name, contentType, contentId, isInline, bytes }
    addAttachment(mailbox, draft, brought, () => `_000_${graph.writing.unique()}_`)
  }
}

function recipientsOf(
  { from, replyTo, toRecipients, ccRecipients }: Message,
  way: Way,
  own: string,
): { toRecipients: Recipient[]; ccRecipients: Recipient[] } {
  if (way === 'forward') return { toRecipients: [], ccRecipients: [] }
  const answered = replyTo.length > 0 ? [...replyTo] : from ? [from] : []
  if (way === 'reply') return { toRecipients: answered, ccRecipients: [] }
  const isOther = ({ address }: Recipient) => address.toLowerCase() !== own
  return {
    toRecipients: [...answered, ...toRecipients.filter(isOther)],
    ccRecipients: ccRecipients.filter(isOther),
  }
}

/** What names the answered message; null if it has no Message-ID. */
function answersOf({ raw, internetMessageId }: Message): { inReplyTo: string; references: string[] } | null {
  if (internetMessageId === '') return null
  const headers = headersOf(raw)
  const before = messageIdsIn(headerOf(headers, 'References'))
  const earlier = before.length > 0 ? before : referencesOf(headers)
  return { inReplyTo: internetMessageId, references: [...earlier, internetMessageId] }
}

/** The body of an answer: the comment, and below it the answered message. */
function quote(original: Message, comment: string): Body {
  const { contentType, content } = bodyOf(original)
  const html = contentType === 'html' ? content : htmlOf(content)
  const inner = /<body[^>]*>([^]*?)<\/body>/i.exec(html)?.[1] ?? html
  const names = (recipients: readonly Recipient[]) =>
    recipients.map(({ name, address }) => escaped(`${name} <${address}>`)).join('; ')
  const head = [
    `<b>From:</b> ${names(original.from ? [original.from] : [])}`,
    `<b>Sent:</b> ${new Date(original.sentAt).toUTCString()}`,
    `<b>To:</b> ${names(original.toRecipients)}`,
    `<b>Subject:</b> ${escaped(original.subject)}`,
  ]
  return {
    contentType: 'html',
    content: `<html><body>${escaped(comment).replaceAll(/\r?\n/g, '<br>')}<hr tabindex="-1"><div id="divRplyFwdMsg">${head.join('<br>\r\n')}</div><div>${inner}</div></body></html>`,
  }
}

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
