import { sql } from 'kysely'
import type { Connections } from '../../../connections/connections.ts'
import type { Db } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { type JobHandler, jobHandler } from '../../../jobs/job-worker.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { reachedAs } from '../../../accounts/reach.ts'
import { findAccountView } from '../../../accounts/store.ts'
import { listDraftCopies } from './location.ts'
import { settleDraftJob } from './record-new-contents.ts'
import { findDraft, readSettled, recordSettled } from './settled-contents.ts'

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
    if (await isBeingWritten(db, accountId, draft.draftId)) throw new Error('The draft is being changed')
    const of = { tenantId, accountId, mailboxId, draftId: draft.draftId }
    try {
      const found = await connections.use(
        reachedAs(account),
        'changing',
        async provider => {
          // The index may still have the draft under a former content, which is no copy and goes.
          const exceptId = (await findDraft(db, of))?.id ?? null
          const copies = await listDraftCopies(db, accountId, { draftId: draft.draftId, exceptId })
          const settled = await provider.settleDraft({ mailboxKey: mailbox.key, ...draft, copies })
          return readSettled(db, of, settled, key => provider.readDraft?.(key) ?? Promise.resolve(null))
        },
        { isRepeatable: true, signal },
      )
      if (found) await inTransaction(db, tenantId, unit => recordSettled(unit, accountId, found))
    } catch (error) {
      // With its mailbox the draft is gone, too.
      if (!(error instanceof ProviderFailure && error.kind === 'not_found')) throw error
    }
  })
}

/**
 * Whether the new content of a draft may be incomplete: where keys last, its files are attached once it is there. If
 * that fails, the new content goes again, and the former one is all that there is.
 */
async function isBeingWritten(db: Db, accountId: string, draftId: string): Promise<boolean> {
  const { rows } = await sql`
    select from message join draft_change as change on change.message_id = message.id
    where account_id = ${accountId} and draft_id = ${draftId} and remote_id is not null
      and held_until > clock_timestamp()
    limit 1
  `.execute(db)
  return rows.length > 0
}
