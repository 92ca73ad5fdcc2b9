import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { sql } from 'kysely'
import { executeUnawaited } from '../../../database/unawaited.ts'

/**
 * Notes that the provider may have given numbers of the account's messages a second time, as a mail server does that comes
 * back from a backup. Every source of the account is then compared, and until then messages are asked about before anything
 * is done to them.
 */
export async function recordSuspicion(unit: UnitOfWork, accountId: string): Promise<void> {
  const suspecting = sql`
    update sync_cursor set suspected_at = clock_timestamp() where account_id = ${accountId}`
  await executeUnawaited(unit.sql, suspecting)
}
