import type { AddedMessage, NewMessage } from '../../changing.ts'
import { ProviderFailure } from '../../failure.ts'
import type { RemoteFlags } from '../../mail.ts'
import type { GmailApi } from '../api.ts'
import { ALL_MAIL_KEY, mailboxKeysOf } from '../labels.ts'
import { createdSchema } from '../resources.ts'
import { UNITS } from '../units.ts'
import { upload } from '../upload.ts'
import { readLabels } from './account-labels.ts'
import type { Effect } from './effect.ts'
import { locationOf, planFlagLabels } from './messages.ts'

/**
 * `ChangingProvider.addMessage` on Gmail, which keeps the Date of the message, or the present, as the time of receipt.
 */
export async function addMessage(
  api: GmailApi,
  effect: Effect,
  mailboxKey: string,
  message: NewMessage,
): Promise<AddedMessage> {
  const labels = await readLabels(api)
  if (mailboxKey !== ALL_MAIL_KEY && !labels.known.has(mailboxKey))
    throw new ProviderFailure('not_found', 'Gmail no longer has the label.')
  const labelIds = [...(mailboxKey === ALL_MAIL_KEY ? [] : [mailboxKey]), ...labelsOf(message.flags)]
  const source = message.receivedAt ? 'dateHeader' : 'receivedTime'
  const { threadId } = message
  const created = await effect.run(() =>
    upload(api, {
      method: 'POST',
      path: `messages?internalDateSource=${source}`,
      metadata: { labelIds, ...(threadId !== null && { threadId }) },
      content: message,
      units: UNITS.messagesInsert,
      schema: createdSchema,
    }),
  )
  return {
    location: locationOf(created.id),
    mailboxKeys: mailboxKeysOf(created.labelIds, labels.ignored),
    draftKey: null,
    threadId: created.threadId,
    message: null,
  }
}

function labelsOf({ isRead, isFlagged, categories }: RemoteFlags): readonly string[] {
  return planFlagLabels({
    ...(!isRead && { isRead }),
    ...(isFlagged && { isFlagged }),
    addCategories: categories,
  }).add
}
