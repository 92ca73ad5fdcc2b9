import type { AddedMessage, ChangingProvider } from '../../../providers/changing.ts'
import type { Cursor } from '../../../providers/mail.ts'
import type { AccountView } from '../../accounts/accounts/account.ts'
import { reachedAs } from '../../accounts/accounts/rules.ts'
import type { RequestContext } from '../../context.ts'
import { changeAtProvider } from '../../mail/at-provider.ts'
import { refuse } from '../../refuse.ts'
import type { DraftServices } from './services.ts'
import type { DraftContent } from './content.ts'
import type { CurrentDraft } from './current.ts'

/** Asks the provider for one change of drafts, which is never repeated blindly. */
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
): Promise<AddedMessage> {
  requireFitting(provider, message.byteLength)
  return provider.addDraft({ mailboxKey, message, mark })
}

/** Gives a draft its new content, and removes what other clients have made of it. */
export async function replaceDraft(
  provider: ChangingProvider,
  mailboxKey: string,
  { newMessage: message, mark }: DraftContent,
  { former, others }: CurrentDraft,
) {
  requireFitting(provider, message.byteLength)
  const outcome = await provider.replaceDraft({ mailboxKey, message, mark, former, draftKey: null })
  if (outcome.type === 'replaced') await removeAll(provider, mailboxKey, others)
  return outcome
}

/** Removes messages that were found in a mailbox a moment ago. */
export async function removeAll(
  provider: ChangingProvider,
  source: string,
  found: CurrentDraft['others'],
  cursor: Cursor | null = null,
): Promise<void> {
  if (found.length === 0) return
  const keys = found.map(({ location }) => location.key)
  for await (const _ of provider.remove({ source, cursor, keys }));
}

function requireFitting({ messageBytesMax }: ChangingProvider, bytes: number): void {
  if (messageBytesMax !== null && bytes > messageBytesMax) refuse('attachments_too_large')
}
