import type { Message } from '@waxwing/contract/mail/messages.ts'
import type { DraftBody } from '@waxwing/contract/sending/send-body.ts'
import { enqueue } from '../../../jobs/enqueue.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { requireSender } from '../../mail/identities/access.ts'
import { refreshIdentities } from '../../mail/identities/refresh.ts'
import { keepMessageCopy } from '../../mail/content/record-copy.ts'
import { lockMailAccount } from '../../mail/messages/record-account.ts'
import { recordDraftLost, recordReplaced } from '../../mail/messages/record-drafts.ts'
import { settleDraftJob } from '../../mail/messages/record-new-contents.ts'
import { refuse } from '../../../calls/refuse.ts'
import { planComposition, requireOriginals } from '../compose/plan-composition.ts'
import { renderedBody } from '../compose/render-content.ts'
import type { FoundDraft } from './access.ts'
import { type DraftContent, writeDraft, type DraftComposition } from './content.ts'
import { type CurrentDraft, requireCurrent, requireOwnMailbox } from './current.ts'
import { untilNotOvertaken } from './overtaken.ts'
import { describedBy, placedIn, presentDraft } from './present.ts'
import { changeDrafts, replaceDraft } from './provider.ts'
import { beginDraftChange, endDraftChange } from './record-change.ts'
import { draftMessageId, wholeSecond, writableId } from './rules.ts'
import type { DraftServices } from './services.ts'

/** Replaces the content of a draft. Without `If-Match`, the last writer wins. */
export function replaceContent(
  context: RequestContext,
  services: DraftServices,
  found: FoundDraft,
  body: DraftBody,
): Promise<Message> {
  return untilNotOvertaken(context, () => replaceOnce(context, services, found, body))
}

async function replaceOnce(
  context: RequestContext,
  services: DraftServices,
  { account, draft }: FoundDraft,
  body: DraftBody,
): Promise<Message> {
  const generation = await context.step(unit => beginDraftChange(unit, account.id, draft.id, context.ifMatch))
  try {
    const current = await requireCurrent(context, services, { account, draft })
    const originals = await requireOriginals(services.content, account, body)
    await refreshIdentities(services.content, account)
    const sender = await requireSender(context.db, account, body.from ?? null)
    const rendered = await renderedBody(context, services, account, body)
    const composing = { ...originals, sender, isSigned: body.sign ?? false, kept: current.threading }
    const draftId = draft.draft_id ?? draft.id
    const composition = {
      ...(await planComposition(services.content, account, rendered, composing)),
      internetMessageId: writableId(draft.internet_message_id) ?? draftMessageId(draftId, sender.address),
      date: wholeSecond(Date.now()),
    }
    const mark = { draftId, generation }
    return await putInPlace(context, services, { account, draft }, current, composition, mark)
  } catch (error) {
    await context.step(unit => endDraftChange(unit, draft.id, generation)).catch(() => {})
    throw error
  }
}

async function putInPlace(
  context: RequestContext,
  services: DraftServices,
  { account, draft }: FoundDraft,
  current: CurrentDraft,
  composition: DraftComposition,
  mark: DraftContent['mark'],
): Promise<Message> {
  const content = await writeDraft(context, services, account, composition, mark, draft.thread_id)
  try {
    const mailbox = await requireOwnMailbox(context, { account, draft })
    await services.reach('draft_append', draft.id)
    const outcome = await changeDrafts(context, services, account, provider =>
      replaceDraft(provider, mailbox.key, content, current),
    )
    await services.reach('draft_appended', draft.id)
    if (outcome.type === 'lost') {
      await keepLost(context, services, { account, draft }, current, content)
      return refuse('draft_lost')
    }
    const { added, isSettled } = outcome
    return await context.change(async unit => {
      const mailAccount = await lockMailAccount(unit, account.id)
      const message = describedBy(added, content)
      await recordReplaced(unit, mailAccount, {
        messageId: draft.id,
        from: current.former,
        message,
        ...(await placedIn(unit, account.id, added, mailbox.id)),
      })
      if (!isSettled) {
        const { internetMessageId } = composition
        const { draftId } = mark
        await enqueue(unit, settleDraftJob, [
          { accountId: account.id, mailboxId: mailbox.id, internetMessageId, draftId },
        ])
      }
      await endDraftChange(unit, draft.id, mark.generation)
      await content.discard(unit)
      unit.wake(account.id)
      await services.reach('draft_commit', draft.id)
      return presentDraft(context, unit, { accountId: account.id, id: draft.id }, content.read)
    })
  } catch (error) {
    await content.discard()
    throw error
  }
}

/** The provider dropped the draft: it reads from a copy of the new content until it is put in place again. */
async function keepLost(
  context: RequestContext,
  { accountKeys }: DraftServices,
  { account, draft }: FoundDraft,
  current: CurrentDraft,
  { form, message }: DraftContent,
): Promise<void> {
  const sealing = accountKeys.blobSealing(account)(draft.id)
  await context.step(async unit => {
    const mailAccount = await lockMailAccount(unit, account.id)
    const mailbox = await requireOwnMailbox(context, { account, draft })
    const lost = { messageId: draft.id, message, mailboxes: [mailbox], from: current.former }
    if (await recordDraftLost(unit, mailAccount, lost))
      await keepMessageCopy(unit, draft.id, asBuffers(form.open()), sealing)
  })
}

async function* asBuffers(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  yield* content
}
