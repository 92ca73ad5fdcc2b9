import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { enqueue, type JobKind } from '../../../jobs/enqueue.ts'

/** A draft that was sent, and its content as it was taken. */
export interface SentDraft {
  accountId: string
  draftId: string
  version: number
}

export const removeSentDraftJob: JobKind<SentDraft> = {
  name: 'remove_sent_draft',
  parse(stored) {
    const { accountId, draftId, version } = Object(stored) as Partial<SentDraft>
    if (!accountId || !draftId || version === undefined) throw new Error('The job names no draft')
    return { accountId, draftId, version }
  },
}

/** Has the draft of a message that was sent removed. */
export async function recordDraftSent(
  unit: UnitOfWork,
  accountId: string,
  sent: { draft_id: string | null; draft_version: number | null },
): Promise<void> {
  const { draft_id: draftId, draft_version: version } = sent
  if (draftId === null || version === null) return
  await enqueue(unit, removeSentDraftJob, [{ accountId, draftId, version }])
}
