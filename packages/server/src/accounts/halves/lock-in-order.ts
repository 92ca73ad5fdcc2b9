import { sql } from 'kysely'
import { executeUnawaited } from '../../database/unawaited.ts'
import type { UnitOfWork } from '../../events/unit-of-work.ts'
import type { HalfKind } from './kind.ts'

/**
 * Locks halves in their order, by a statement of its own: the next one sees what others have committed until then. A
 * statement that locks rows and writes them reads an older state, and can deadlock. It is sent together with the next one.
 */
export function lockHalves(
  unit: UnitOfWork,
  accountIds: readonly string[],
  kinds: Iterable<HalfKind>,
): Promise<void> {
  return executeUnawaited(
    unit.sql,
    sql`
    select from account_half where account_id = any(${[...accountIds]}::uuid[]) and kind = any(${[...kinds]}::text[])
    order by account_id, kind desc for no key update`,
  )
}
