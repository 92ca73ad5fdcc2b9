import { sql } from 'kysely'
import { isOneOf } from '../../../database/one-of.ts'
import type { Db } from '../../../database/pool.ts'
import type { ChangingProvider, DraftSettling } from '../../../providers/changing.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { listDraftCopies } from './location.ts'
import { settleDraftJob } from './record-new-contents.ts'

/**
 * Settles drafts that are about to be removed, if a job has yet to do that: a former content that outlived its draft would
 * be taken for another one.
 */
export async function settleRemoved(
  db: Db,
  accountId: string,
  provider: ChangingProvider,
  messageIds: readonly string[],
): Promise<void> {
  const { rows } = await sql<Omit<DraftSettling, 'copies'>>`
    select distinct provider_key as "mailboxKey", draft_id as "draftId",
      payload ->> 'internetMessageId' as "internetMessageId"
    from message
    join job on job.tenant_id = message.tenant_id and job.kind = ${settleDraftJob.name}
      and payload ->> 'draftId' = draft_id and payload ->> 'accountId' = message.account_id::text
    join mailbox on mailbox.id = (payload ->> 'mailboxId')::uuid and not is_deleted
    where message.account_id = ${accountId} and ${isOneOf('message.id', messageIds)}
  `.execute(db)
  for (const draft of rows) {
    const copies = await listDraftCopies(db, accountId, { draftId: draft.draftId, exceptId: null })
    try {
      await provider.settleDraft({ ...draft, copies })
    } catch (error) {
      if (!(error instanceof ProviderFailure && error.kind === 'not_found')) throw error
    }
  }
}
