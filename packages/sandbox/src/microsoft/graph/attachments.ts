import { headersOf } from '../../mail/message-headers.ts'
import { fieldsOfMime, readContent } from '../mailbox/content.ts'
import type { Attachment, Message } from '../mailbox/message.ts'
import { attachmentsOf } from '../mailbox/messages.ts'
import { removeAttachment } from '../mailbox/draft-content.ts'
import { attach } from './attach.ts'
import { presentAttachment } from './attachment-shape.ts'
import { badRequest, itemNotFound } from './errors.ts'
import { MESSAGE_PATHS, requireMessage } from './messages.ts'
import {
  created,
  type GraphAnswer,
  type GraphMethod,
  type MethodCall,
  noContent,
  ok,
  READ,
  WRITE,
} from './method.ts'
import { contextOf, pageOf } from './odata/paging.ts'
import { requireDraft } from './require-draft.ts'
import { openUploadSession } from './upload-sessions.ts'

const LIST_OPTIONS = ['select', 'expand', 'top', 'skip', 'count'] as const

/** Methods of the attachments of messages. */
export const attachmentMethods: readonly GraphMethod[] = MESSAGE_PATHS.flatMap((path): GraphMethod[] => {
  const all = `${path}/attachments`
  const one = `${all}/{attachment}`
  return [
    { http: 'GET', path: all, scopes: READ, options: LIST_OPTIONS, run: list },
    { http: 'POST', path: all, scopes: WRITE, run: add },
    { http: 'GET', path: one, scopes: READ, options: ['select', 'expand'], run: get },
    { http: 'GET', path: `${one}/$value`, scopes: READ, run: getValue },
    { http: 'DELETE', path: one, scopes: WRITE, run: remove },
    {
      http: 'POST',
      path: `${all}/createUploadSession`,
      scopes: WRITE,
      needs: 'uploadSessions',
      run: openUploadSession,
    },
  ]
})

const context = ({ url, mailbox }: MethodCall, message: Message, ending: string): object => ({
  '@odata.context': contextOf(
    url,
    `users('${encodeURIComponent(mailbox.email)}')/messages('${message.id}')/attachments${ending}`,
  ),
})

function list(call: MethodCall): GraphAnswer {
  const { query, url, prefer } = call
  const message = requireMessage(call)
  const { items, annotations } = pageOf(attachmentsOf(message), query, url, prefer.pageSize)
  return ok({
    ...context(call, message, ''),
    ...annotations,
    value: items.map(attachment => shown(call, attachment)),
  })
}

function get(call: MethodCall): GraphAnswer {
  const message = requireMessage(call)
  return ok({ ...context(call, message, '/$entity'), ...shown(call, requireAttachment(call, message)) })
}

function shown({ query, graph }: MethodCall, attachment: Attachment): Record<string, unknown> {
  const expand = query.options.get('expand') ?? ''
  const isItemWanted = /^microsoft\.graph\.itemAttachment\/item\b/i.test(expand)
  return {
    ...presentAttachment(named(graph, attachment), query.options.get('select')),
    ...(isItemWanted && attachment.kind === 'item' && { item: presentItem(attachment) }),
  }
}

/** The item in an attachment, which has no id of its own. */
function presentItem({ mime, item }: Attachment & { kind: 'item' }): object {
  if (mime === null) return item
  const { toRecipients = [], ccRecipients = [], from, ...fields } = fieldsOfMime(headersOf(mime))
  const { body, hasAttachments } = readContent({ raw: mime, immutableId: '', createdAt: 0 })
  return {
    '@odata.type': '#microsoft.graph.message',
    subject: fields.subject,
    internetMessageId: fields.internetMessageId,
    importance: fields.importance,
    hasAttachments,
    body,
    from: from ? { emailAddress: from } : null,
    toRecipients: toRecipients.map(emailAddress => ({ emailAddress })),
    ccRecipients: ccRecipients.map(emailAddress => ({ emailAddress })),
  }
}

/** End of an attachment's id. Each answer may add its own letters to it. */
const ID_END = 'ABEgAQ'
const LETTERS = 8

function named({ writing, random }: MethodCall['graph'], attachment: Attachment): Attachment {
  if (writing.settings.attachmentIds === 'kept') return attachment
  return { ...attachment, id: attachment.id.replace(/=$/, `${random.letters(LETTERS)}=`) }
}

const keptId = (id: string): string => id.replace(new RegExp(`${ID_END}[\\w-]{${LETTERS}}=$`), `${ID_END}=`)

function requireAttachment({ params }: MethodCall, message: Message): Attachment {
  const found = attachmentsOf(message).find(({ id }) => id === keptId(params['attachment'] ?? ''))
  if (!found) throw itemNotFound()
  return found
}

/** The bytes of a file, or the MIME of a message. */
function getValue(call: MethodCall): GraphAnswer {
  const attachment = requireAttachment(call, requireMessage(call))
  if (attachment.kind === 'file')
    return { status: 200, bytes: attachment.bytes, contentType: attachment.contentType }
  if (attachment.kind === 'item' && attachment.mime)
    return { status: 200, bytes: attachment.mime, contentType: 'text/plain' }
  throw badRequest('The attachment has no raw contents.', 'ErrorInvalidOperation')
}

function add(call: MethodCall): GraphAnswer {
  const message = requireDraft(call)
  const attachment = attach(call, message, call.json())
  return created({
    ...context(call, message, '/$entity'),
    ...presentAttachment(named(call.graph, attachment)),
  })
}

function remove(call: MethodCall): GraphAnswer {
  const message = requireDraft(call)
  const attachment = requireAttachment(call, message)
  const isRemoved = removeAttachment(
    call.mailbox,
    message,
    attachment,
    () => `_000_${call.graph.writing.unique()}_`,
  )
  if (!isRemoved) throw badRequest('The attachment is part of the body.', 'ErrorInvalidOperation')
  return noContent
}
