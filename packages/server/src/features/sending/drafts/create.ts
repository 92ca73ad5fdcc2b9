import type { Message } from '@waxwing/contract/mail/messages.ts'
import type { DraftBody } from '@waxwing/contract/sending/send-body.ts'
import { timeOfId } from '../../../kit/ids.ts'
import type { AccountView } from '../../../accounts/row.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { changeAtProvider } from '../../mail/at-provider.ts'
import { requireSender } from '../../mail/identities/access.ts'
import { refreshIdentities } from '../../mail/identities/refresh.ts'
import { findMailSettings } from '../../mail/mail-settings/store.ts'
import { requireMailboxByRole } from '../../mail/mailboxes/access.ts'
import { lockMailAccount } from '../../mail/messages/record-account.ts'
import { recordAdded } from '../../mail/messages/record-changes.ts'
import { planComposition, requireOriginals } from '../compose/plan-composition.ts'
import { renderedBody } from '../compose/render-content.ts'
import { writeDraft } from './content.ts'
import { describedBy, placedIn, presentDraft } from './present.ts'
import { addDraft, changeDrafts } from './provider.ts'
import { FIRST_GENERATION } from './record-change.ts'
import { draftMessageId, wholeSecond } from './rules.ts'
import type { DraftServices } from './services.ts'

/**
 * Creates a draft. Everything that names the draft is derived from the attempt: a request that is tried again finds the
 * draft that it added.
 */
export async function createDraft(
  context: RequestContext,
  services: DraftServices,
  account: AccountView,
  body: DraftBody,
): Promise<Message> {
  const originals = await requireOriginals(services.content, account, body)
  await refreshIdentities(services.content, account)
  const sender = await requireSender(context.db, account, body.from ?? null)
  const rendered = await renderedBody(context, services, account, body)
  const isSigned = body.sign ?? (await findMailSettings(context.db, account.id)).signByDefault
  const { id: draftId } = context.attempt
  const composing = { ...originals, sender, isSigned, kept: null }
  const content = await writeDraft(
    context,
    services,
    account,
    {
      ...(await planComposition(services.content, account, rendered, composing)),
      internetMessageId: draftMessageId(draftId, sender.address),
      date: wholeSecond(timeOfId(draftId) ?? Date.now()),
    },
    { draftId, generation: FIRST_GENERATION },
    originals.replied?.thread_id ?? null,
  )
  try {
    const mailbox = await changeAtProvider(context, account, () =>
      requireMailboxByRole({ ...services, db: context.db, step: context.step }, account, 'drafts'),
    )
    await services.reach('draft_append', draftId)
    const added = await changeDrafts(context, services, account, provider =>
      addDraft(provider, mailbox.provider_key, content, context.attempt.isResumed),
    )
    await services.reach('draft_appended', draftId)
    return await context.change(async unit => {
      const mailAccount = await lockMailAccount(unit, account.id)
      const message = { ...describedBy(added, content), threadId: added.threadId }
      const placed = await placedIn(unit, account.id, added, mailbox.id)
      const id = await recordAdded(unit, mailAccount, { message, ...placed })
      await content.discard(unit)
      unit.wake(account.id)
      await services.reach('draft_commit', draftId)
      return presentDraft(context, unit, { accountId: account.id, id }, content.read)
    })
  } catch (error) {
    await content.discard()
    throw error
  }
}
