import type { NewestFirst } from '../../../database/page.ts'
import type { Db } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { type JobHandler, jobHandler } from '../../../jobs/job-worker.ts'
import { findLockedMailAccount } from './record-account.ts'
import { directionsJob, recordDirections } from './record-directions.ts'

/** Sync waits while a transaction of these holds the half of mail. */
const MESSAGES_PER_TRANSACTION = 500

/**
 * Runs `directionsJob`: goes through all messages of the account in short transactions. A repetition changes only
 * directions that are still wrong, so an interrupted run begins again at the newest message.
 */
export function directionsHandler(db: Db): JobHandler {
  return jobHandler(directionsJob, async ({ accountId }, { tenantId, signal }) => {
    let after: NewestFirst | null = null
    do {
      signal.throwIfAborted()
      const page: { after: NewestFirst | null; limit: number } = { after, limit: MESSAGES_PER_TRANSACTION }
      after = await inTransaction(db, tenantId, async unit => {
        const account = await findLockedMailAccount(unit, accountId)
        return account && recordDirections(unit, account, page)
      })
    } while (after !== null)
  })
}
