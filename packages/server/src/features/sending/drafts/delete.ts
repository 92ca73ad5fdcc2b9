import type { FoundMessage } from '../../../providers/changing.ts'
import { DRAFT_FIELD, readDraftMark } from '../../../providers/draft-mark.ts'
import type { RequestContext } from '../../../calls/context.ts'
import { findLocation } from '../../mail/messages/location.ts'
import { lockMailAccount } from '../../mail/messages/record-account.ts'
import { recordRemovals } from '../../mail/messages/record-changes.ts'
import type { FoundDraft } from './access.ts'
import { findContents, refuseChanged, requireOwnMailbox } from './current.ts'
import { knownDraft, mayBeUnfound } from './look.ts'
import { untilNotOvertaken } from './overtaken.ts'
import { changeDrafts } from './provider.ts'
import { beginDraftChange, endDraftChange } from './record-change.ts'
import type { DraftServices } from './services.ts'

/** Deletes a draft for good, with all remains of an interrupted change. */
export function deleteDraft(
  context: RequestContext,
  services: DraftServices,
  found: FoundDraft,
): Promise<null> {
  return untilNotOvertaken(context, () => deleteOnce(context, services, found))
}

async function deleteOnce(
  context: RequestContext,
  services: DraftServices,
  { account, draft }: FoundDraft,
): Promise<null> {
  const generation = await context.step(unit => beginDraftChange(unit, account.id, draft.id, context.ifMatch))
  try {
    const former = await findLocation(context.db, account.id, draft.id)
    const { found, itself } = await findContents(context, services, { account, draft }, former)
    const isFindable = draft.draft_key !== null || draft.internet_message_id !== null
    const isChanged = former !== null && isFindable && !itself
    const isUnfound = isChanged && found.length === 0 && mayBeUnfound(draft, former)
    if (isChanged && !isUnfound && context.ifMatch !== null) await refuseChanged(context, account.id)
    // Without If-Match, another client's newer content goes, too. A message with a generation of its own is a copy of
    // the draft.
    const generationOf = ({ fields }: FoundMessage) => {
      const mark = readDraftMark(fields.get(DRAFT_FIELD))
      return mark && mark.draftId === draft.draft_id ? mark.generation : null
    }
    const own = itself && generationOf(itself)
    const others = found.filter(message => !itself || ![null, own].includes(generationOf(message)))
    const mailbox = await requireOwnMailbox(context, { account, draft })
    // With its revision, a draft that the provider does not find is not taken for one that is gone.
    const revision = itself?.revision ?? (isUnfound ? (draft.draft_revision ?? '') : null)
    const removed = former && { ...former, revision }
    await changeDrafts(context, services, account, provider =>
      provider.removeDraft({ ...knownDraft(draft, mailbox.key, removed), others }),
    )
    return await context.change(async unit => {
      const mailAccount = await lockMailAccount(unit, account.id)
      await recordRemovals(unit, mailAccount, [{ messageId: draft.id, from: former }])
      await endDraftChange(unit, draft.id, generation)
      unit.wake(account.id)
      return null
    })
  } catch (error) {
    await context.step(unit => endDraftChange(unit, draft.id, generation)).catch(() => {})
    throw error
  }
}
