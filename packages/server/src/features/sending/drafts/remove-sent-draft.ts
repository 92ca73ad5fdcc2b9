import type { Connections } from '../../../connections/connections.ts'
import type { Db } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { type JobHandler, jobHandler } from '../../../jobs/job-worker.ts'
import { reachedAs } from '../../../accounts/reach.ts'
import { findAccountView } from '../../../accounts/store.ts'
import { listPlacedMailboxes } from '../../mail/mailboxes/store.ts'
import { findLocation } from '../../mail/messages/location.ts'
import { lockMailAccount } from '../../mail/messages/record-account.ts'
import { recordRemovals } from '../../mail/messages/record-changes.ts'
import { recordEdited } from '../../mail/messages/record-edited.ts'
import { findMessage, type FullRow } from '../../mail/messages/store.ts'
import { knownDraft, lookAtDraft, mayBeUnfound } from './look.ts'
import { removeSentDraftJob } from './record-sent-draft.ts'

interface RemovalServices {
  db: Db
  connections: Connections
  wakeSync(accountId: string): void
}

/** Removes a draft that was sent, unless anybody has changed it since. */
export function removeSentDraftHandler(services: RemovalServices): JobHandler {
  const { db, connections, wakeSync } = services
  return jobHandler(removeSentDraftJob, async ({ accountId, draftId, version }, { tenantId, signal }) => {
    const account = await findAccountView(db, tenantId, accountId)
    const draft = account && (await findMessage(db, accountId, draftId))
    if (!draft?.is_draft || draft.content_version !== version) return
    if (account?.status !== 'active') throw new Error('The account cannot be used now')
    const former = await findLocation(db, accountId, draftId)
    if (!former && !draft.is_kept) throw new Error('It is not known where the draft is')
    if (former) {
      const mailboxKey = await findOwnMailbox(db, accountId, draft)
      if (mailboxKey === null) return wakeSync(accountId)
      const known = knownDraft(draft, mailboxKey, former)
      const remove = (revision: string | null) =>
        connections.use(
          reachedAs(account),
          'changing',
          provider => provider.removeDraft({ ...known, former: { ...former, revision }, others: [] }),
          { isRepeatable: true, signal },
        )
      const isFindable = draft.draft_key !== null || draft.internet_message_id !== null
      if (!isFindable) await remove(null)
      else {
        const { found, itself, edited } = await connections.use(
          reachedAs(account),
          'changing',
          provider => lookAtDraft(provider, known, draft, []),
          { isRepeatable: true, signal },
        )
        if (found.length === 0 && mayBeUnfound(draft, former))
          throw new Error('The provider does not find the draft yet')
        // Another client has saved it again: the sync sees its present content.
        if (!itself) return wakeSync(accountId)
        if (edited) {
          const { source } = former
          await inTransaction(db, tenantId, unit =>
            recordEdited(unit, accountId, { messageId: draftId, source, message: edited }),
          )
          const seen = await findMessage(db, accountId, draftId)
          if (seen?.content_version !== version) return wakeSync(accountId)
        }
        await remove(itself.revision)
      }
    }
    await inTransaction(db, tenantId, async unit => {
      const mailAccount = await lockMailAccount(unit, accountId)
      await recordRemovals(unit, mailAccount, [{ messageId: draftId, from: former }])
    })
    wakeSync(accountId)
  })
}

async function findOwnMailbox(db: Db, accountId: string, { mailbox_ids }: FullRow): Promise<string | null> {
  const placed = await listPlacedMailboxes(db, accountId)
  return placed.find(({ id }) => mailbox_ids.includes(id))?.key ?? null
}
