import type { AddedMessage, NewMessage } from '../../changing.ts'
import { ProviderFailure } from '../../failure.ts'
import type { GraphApi } from '../api.ts'
import { requestOfFolder } from '../folders.ts'
import { completeDraft, incompleteUntilDone } from '../incomplete.ts'
import { type MadeDraft, makeDraft } from '../uploads.ts'
import type { Effect } from './effect.ts'
import { locationOf, pathOf } from './messages.ts'
import { removeForGood } from './move.ts'

/**
 * `ChangingProvider.addMessage` on Graph, which makes drafts only: a message that is none cannot be added with its
 * header and files.
 */
export async function addMessage(
  api: GraphApi,
  effect: Effect,
  mailboxKey: string,
  message: NewMessage,
): Promise<AddedMessage> {
  if (!message.flags.isDraft)
    throw new ProviderFailure('unsupported', 'Microsoft Graph takes no message that is not a draft.')
  const { id, parentFolderId, conversationId } = await addToFolder(api, effect, mailboxKey, message)
  const folderId = parentFolderId ?? mailboxKey
  return {
    location: locationOf(folderId, id),
    mailboxKeys: [folderId],
    draftKey: null,
    threadId: conversationId ?? null,
    message: null,
  }
}

/**
 * Makes a draft in a folder, which is incomplete until it has all its files. A draft whose files could not be attached is
 * removed again.
 */
export async function addToFolder(
  api: GraphApi,
  effect: Effect,
  mailboxKey: string,
  message: NewMessage,
): Promise<MadeDraft> {
  await api.ask(requestOfFolder(mailboxKey))
  const made: string[] = []
  try {
    return await effect.run(() =>
      makeDraft(api, mailboxKey, incompleteUntilDone(message), {
        onMade(id) {
          made.push(id)
          effect.done()
        },
        onAttached: id => completeDraft(api, pathOf(id)),
      }),
    )
  } catch (error) {
    if (made.length > 0) await removeForGood(api, effect, made).catch(() => {})
    throw error
  }
}
