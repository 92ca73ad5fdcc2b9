import { sql } from 'kysely'
import type { NewestFirst } from '../../../database/page.ts'
import type { Db } from '../../../database/pool.ts'
import { inTransaction, type UnitOfWork } from '../../../events/unit-of-work.ts'
import { type JobHandler, jobHandler } from '../../../jobs/job-worker.ts'
import { listOwnAddresses } from '../identities/store.ts'
import { directionsJob, recordDirections } from './record-directions.ts'
import type { MailAccount } from './rules.ts'

/** Sync waits while a transaction of these holds the account. */
const MESSAGES_PER_TRANSACTION = 500

/**
 * Runs `directionsJob`: goes through all messages of the account in short transactions. Repeating it changes only what
 * is not right yet, so a run that was interrupted begins again at the newest message.
 */
export function directionsHandler(db: Db): JobHandler {
  return jobHandler(directionsJob, async ({ accountId }, { tenantId, signal }) => {
    let after: NewestFirst | null = null
    do {
      signal.throwIfAborted()
      const page: { after: NewestFirst | null; limit: number } = { after, limit: MESSAGES_PER_TRANSACTION }
      after = await inTransaction(db, tenantId, async unit => {
        const account = await lockMailAccount(unit, accountId)
        return account && recordDirections(unit, account, page)
      })
    } while (after !== null)
  })
}

/** Locks the account, so that nobody else records its messages; null if it is deleted. */
async function lockMailAccount(
  unit: UnitOfWork,
  accountId: string,
): Promise<Pick<MailAccount, 'id' | 'addresses' | 'isInitialized'> | null> {
  const { rows } = await sql<{ id: string; email: string; initialized_at: Date | null }>`
    select id, email, initialized_at from account
    where tenant_id = ${unit.tenantId} and id = ${accountId} and deleted_at is null
    for no key update
  `.execute(unit.sql)
  const [row] = rows
  if (!row) return null
  return {
    id: row.id,
    addresses: await listOwnAddresses(unit.sql, row),
    isInitialized: row.initialized_at !== null,
  }
}
