import { findFolder, wellKnownFolder } from '../mailbox/mailbox.ts'
import type { Folder, MessageFields } from '../mailbox/message.ts'
import { changeMessage, copyMessage, moveMessage, removeMessage } from '../mailbox/messages.ts'
import { changeDraft } from '../mailbox/draft-content.ts'
import { createdAnswer } from './drafts.ts'
import { badRequest, GraphRefusal } from './errors.ts'
import { requireMatch } from './require-match.ts'
import { readMessage } from './message-input.ts'
import { etagOf, presentMessage, wholeView } from './message-shape.ts'
import { MESSAGE_PATHS, requireMessage } from './messages.ts'
import { type GraphAnswer, type GraphMethod, type MethodCall, noContent, ok, WRITE } from './method.ts'
import { contextOf } from './odata/paging.ts'

/** Methods that change existing messages. */
export const messageChangeMethods: readonly GraphMethod[] = MESSAGE_PATHS.flatMap((path): GraphMethod[] => [
  { http: 'PATCH', path, scopes: WRITE, run: change },
  { http: 'DELETE', path, scopes: WRITE, run: remove },
  { http: 'POST', path: `${path}/move`, scopes: WRITE, run: move },
  { http: 'POST', path: `${path}/copy`, scopes: WRITE, run: copy },
  {
    http: 'POST',
    path: `${path}/permanentDelete`,
    scopes: WRITE,
    needs: 'permanentDelete',
    run: removeForever,
  },
])

/** Properties that only drafts can change. */
const OF_DRAFTS = new Set<keyof MessageFields>([
  'subject',
  'from',
  'sender',
  'toRecipients',
  'ccRecipients',
  'bccRecipients',
  'replyTo',
  'internetMessageId',
  'isReadReceiptRequested',
  'isDeliveryReceiptRequested',
])

function change(call: MethodCall): GraphAnswer {
  const message = requireMessage(call)
  requireMatch(call, etagOf(message))
  const { fields, body, headers, attachments, extended } = readMessage(call.json())
  if (headers.length > 0 || attachments.length > 0) throw invalidSet()
  const isOfDrafts = Object.keys(fields).some(name => OF_DRAFTS.has(name as keyof MessageFields))
  if (!message.isDraft && (body || isOfDrafts)) throw invalidSet()
  const changes = {
    ...fields,
    ...(extended.size > 0 && { extended: new Map([...message.extended, ...extended]) }),
  }
  if (message.isDraft)
    changeDraft(call.mailbox, message, changes, body, () => `_000_${call.graph.writing.unique()}_`)
  else if (Object.keys(changes).length > 0) changeMessage(call.mailbox, message, changes)
  const answer = ok({
    '@odata.context': contextOf(
      call.url,
      `users('${encodeURIComponent(call.mailbox.email)}')/messages/$entity`,
    ),
    ...presentMessage(message, wholeView(call.prefer)),
  })
  return { ...answer, headers: { etag: etagOf(message) } }
}

const invalidSet = (): GraphRefusal =>
  badRequest('Set action is invalid for property.', 'ErrorInvalidPropertySet')

/** The folder that a body names as the destination. */
function destinationIn({ mailbox, json }: MethodCall): Folder {
  const body = json()
  const given = body['destinationId'] ?? body['DestinationId']
  if (typeof given !== 'string' || given === '')
    throw badRequest('The parameter DestinationId is missing.', 'ErrorInvalidRequest')
  const folder = findFolder(mailbox, given)
  if (!folder)
    throw new GraphRefusal(
      404,
      'ErrorFolderNotFound',
      'The specified folder could not be found in the store.',
    )
  // Clients delete messages for good by moving them to where they can be recovered.
  const isRoot = folder.parent === null && folder.wellKnownName !== 'recoverableitemsdeletions'
  if (folder.search || isRoot) throw badRequest('The move or copy operation failed.', 'ErrorMoveCopyFailed')
  return folder
}

function move(call: MethodCall): GraphAnswer {
  const message = requireMessage(call)
  const folder = destinationIn(call)
  if (message.folder !== folder) moveMessage(call.mailbox, message, folder)
  return createdAnswer(call, message)
}

function copy(call: MethodCall): GraphAnswer {
  const message = requireMessage(call)
  return createdAnswer(call, copyMessage(call.mailbox, message, destinationIn(call)))
}

/** Puts a message into Deleted Items, and deletes for good what is there already. */
function remove(call: MethodCall): GraphAnswer {
  const message = requireMessage(call)
  requireMatch(call, etagOf(message))
  const deleted = wellKnownFolder(call.mailbox, 'deleteditems')
  let folder: Folder | null = message.folder
  while (folder && folder !== deleted) folder = folder.parent
  if (folder) removeMessage(call.mailbox, message)
  else moveMessage(call.mailbox, message, deleted)
  return noContent
}

function removeForever(call: MethodCall): GraphAnswer {
  removeMessage(call.mailbox, requireMessage(call))
  return noContent
}
