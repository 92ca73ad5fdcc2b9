import { sql } from 'kysely'
import type { Connections } from '../../../connections/connections.ts'
import type { Db } from '../../../database/pool.ts'
import { type JobHandler, jobHandler } from '../../../jobs/job-worker.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { reachedAs } from '../../../accounts/reach.ts'
import { findAccountView } from '../../../accounts/store.ts'
import { listDraftCopies } from './location.ts'
import { settleDraftJob } from './record-new-contents.ts'

/** Runs `settleDraftJob`. The messages that it removes are in no index. */
export function settleDraftHandler({ db, connections }: { db: Db; connections: Connections }): JobHandler {
  return jobHandler(settleDraftJob, async ({ accountId, mailboxId, ...draft }, { tenantId, signal }) => {
    const account = await findAccountView(db, tenantId, accountId)
    if (!account) return
    if (account.status !== 'active') throw new Error('The account cannot be used now')
    const { rows } = await sql<{ key: string }>`
      select provider_key as key from mailbox where id = ${mailboxId} and account_id = ${accountId} and not is_deleted
    `.execute(db)
    const [mailbox] = rows
    if (!mailbox) return
    try {
      await connections.use(
        reachedAs(account),
        'changing',
        async provider => {
          const copies = await listDraftCopies(db, accountId, { draftId: draft.draftId, exceptId: null })
          return provider.settleDraft({ mailboxKey: mailbox.key, ...draft, copies })
        },
        { isRepeatable: true, signal },
      )
    } catch (error) {
      // With its mailbox the draft is gone, too.
      if (!(error instanceof ProviderFailure && error.kind === 'not_found')) throw error
    }
  })
}
