import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { announceDeleted } from './announce.ts'
import type { MailAccount } from './rules.ts'

/** Deletes messages from the index, and announces them as they were last indexed. */
export async function recordDeletions(
  unit: UnitOfWork,
  account: MailAccount,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return
  if (account.isInitialized) await announceDeleted(unit, account, ids)
  await sql`delete from message where id = any(${[...ids]}::uuid[])`.execute(unit.sql)
}
