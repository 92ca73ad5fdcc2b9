import type { AddedMessage, ChangingProvider, DraftOutcome } from '../../../providers/changing.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { reachedAs } from '../../../accounts/reach.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { changeAtProvider } from '../../mail/at-provider.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { DraftServices } from './services.ts'
import type { DraftContent } from './content.ts'
import type { CurrentDraft } from './current.ts'

/** Makes one change of drafts at the provider, which is never repeated blindly. */
export function changeDrafts<T>(
  context: RequestContext,
  { connections }: DraftServices,
  account: AccountView,
  work: (provider: ChangingProvider) => Promise<T>,
): Promise<T> {
  return changeAtProvider(context, account, () =>
    connections.use(reachedAs(account), 'changing', work, { isRepeatable: false }),
  )
}

/** Adds a draft. If an earlier try of the same request did, that one is answered. */
export async function addDraft(
  provider: ChangingProvider,
  mailboxKey: string,
  { newMessage: message, mark }: DraftContent,
  mayExist: boolean,
): Promise<AddedMessage> {
  requireFitting(provider, message.byteLength)
  return provider.addDraft({ mailboxKey, message, mark }, mayExist)
}

/** Gives a draft its new content, and removes the copies that other clients have made of it. */
export async function replaceDraft(
  provider: ChangingProvider,
  mailboxKey: string,
  { newMessage: message, mark }: DraftContent,
  { former, draftKey, others, copies }: CurrentDraft,
): Promise<DraftOutcome> {
  requireFitting(provider, message.byteLength)
  return provider.replaceDraft({ mailboxKey, message, mark, former, draftKey, others, copies })
}

function requireFitting({ messageBytesMax }: ChangingProvider, bytes: number): void {
  if (messageBytesMax !== null && bytes > messageBytesMax) refuse('attachments_too_large')
}
