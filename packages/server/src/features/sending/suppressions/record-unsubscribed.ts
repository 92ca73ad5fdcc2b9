import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { recordSuppressed } from './record-suppressed.ts'
import type { Unsubscribing } from './unsubscribe-link.ts'

const REASON = 'Unsubscribed by the link of a message.'

/**
 * Puts the address on the list, which is created again if it is gone. False if it was listed already. The send that had the
 * link may be gone, and its account.
 */
export async function recordUnsubscribed(
  unit: UnitOfWork,
  { listId, address, outboxId }: Unsubscribing,
): Promise<boolean> {
  const { rows } = await sql<{ account_id: string }>`
    select account_id from outbox where id = ${outboxId} and tenant_id = ${unit.tenantId}
  `.execute(unit.sql)
  const accountId = rows[0]?.account_id ?? null
  const added = await recordSuppressed(unit, [
    { listId, address, source: 'unsubscribe', reason: REASON, accountId, outboxId },
  ])
  return added.length > 0
}
