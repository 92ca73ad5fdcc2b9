import { sql } from 'kysely'
import type { UnitOfWork } from '../../events/unit-of-work.ts'
import type { HalfKind } from './kind.ts'

/**
 * Records what comparisons of a half with its provider have found. A half that differs is not live.
 * @param verifiedAt when the half was last found equal; null if the comparison leaves that open
 */
export async function recordCompared(
  unit: UnitOfWork,
  { accountId, kind }: { accountId: string; kind: HalfKind },
  { differs, verifiedAt }: { differs: boolean; verifiedAt: Date | null },
): Promise<void> {
  await sql`
    update account_half set
      differs_since = case when ${differs} then coalesce(differs_since, clock_timestamp()) end,
      verified_at = coalesce(${verifiedAt}::timestamptz, verified_at),
      runtime_state = case when ${differs} and runtime_state = 'live' then 'syncing' else runtime_state end,
      behind_since = case when ${differs} then coalesce(behind_since, clock_timestamp()) else behind_since end
    where account_id = ${accountId} and kind = ${kind}
  `.execute(unit.sql)
}
