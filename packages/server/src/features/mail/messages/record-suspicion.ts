import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { sql } from 'kysely'
import { executeUnawaited } from '../../../database/unawaited.ts'

/**
 * Records that the provider may have reused numbers of the account's messages, as a mail server does after it was
 * restored from a backup. Every source of the account is then compared, and until then messages are looked up before
 * anything is done to them.
 */
export async function recordSuspicion(unit: UnitOfWork, accountId: string): Promise<void> {
  const suspecting = sql`
    update sync_cursor set suspected_at = clock_timestamp() where account_id = ${accountId}`
  await executeUnawaited(unit.sql, suspecting)
}
