import { implement } from '@orpc/server'
import { messages } from '@waxwing/contract/mail/messages.ts'
import { isUuid } from '../../../kit/ids.ts'
import { requireAccountView } from '../../accounts/accounts/access.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import { presentEtag, presentMessage } from '../messages/present.ts'
import { type FullRow, findMessage } from '../messages/store.ts'
import { openAttachment } from './attachment.ts'
import { correctMessage, type ReadContext, readMessage } from './body.ts'
import { openSource } from './source.ts'

const on = implement(messages).$context<RequestContext>()

/** Operations that need the whole message. */
export function contentOperations(content: ReadContext) {
  return {
    get: on.get.handler(async ({ input: { params }, context }) => {
      const account = await requireAccountView(context, params.accountId)
      const message = await requireMessage(context, account.id, params.messageId)
      if (message.is_draft) context.answerHeaders.etag = presentEtag(message)
      const read = await readMessage(content, account, message)
      return presentMessage(read ? await correctMessage(content, account, message, read) : message, read)
    }),

    raw: on.raw.handler(async ({ input: { params }, context }) => {
      const account = await requireAccountView(context, params.accountId)
      const message = await requireMessage(context, account.id, params.messageId)
      const source = await openSource(content, account, message)
      return { contentType: 'message/rfc822', fileName: `${message.id}.eml`, content: source }
    }),

    attachment: on.attachment.handler(async ({ input: { params }, context }) => {
      const account = await requireAccountView(context, params.accountId)
      const message = await requireMessage(context, account.id, params.messageId)
      return openAttachment(content, account, message, params.attachmentId)
    }),
  }
}

/** Returns the account's message of the path. A message of another account and a malformed id are refused alike. */
async function requireMessage(
  context: RequestContext,
  accountId: string,
  messageId: string,
): Promise<FullRow> {
  const id = messageId.toLowerCase()
  const message = isUuid(id) ? await findMessage(context.db, accountId, id) : null
  return message ?? refuse('message_not_found')
}
