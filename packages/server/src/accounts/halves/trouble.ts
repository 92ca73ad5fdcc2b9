import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/tables.ts'
import { executeUnawaited } from '../../database/unawaited.ts'
import type { UnitOfWork } from '../../events/unit-of-work.ts'
import type { HalfKind } from './kind.ts'
import { lockHalves } from './lock-in-order.ts'

/** The problem of a half of an active account; null if there is none, undefined if the account is not active. */
export async function findProblem(
  db: Kysely<Tables>,
  accountId: string,
  kind: HalfKind,
): Promise<string | null | undefined> {
  const row = await db
    .selectFrom('account_half')
    .innerJoin('account', 'account.id', 'account_half.account_id')
    .select('problem')
    .where('account_id', '=', accountId)
    .where('kind', '=', kind)
    .where('status', '=', 'active')
    .executeTakeFirst()
  return row === undefined ? undefined : row.problem
}

/**
 * Records that the provider says that the mailbox is gone or closed. Its account must be locked.
 * @returns for how many hours it has said nothing else
 */
export async function recordClosedSince(
  unit: UnitOfWork,
  accountId: string,
  kind: HalfKind,
): Promise<number> {
  const { rows } = await sql<{ hours: number }>`
    update account_half set closed_since = coalesce(closed_since, clock_timestamp())
    where account_id = ${accountId} and kind = ${kind}
    returning extract(epoch from clock_timestamp() - closed_since)::float8 / 3600 as hours
  `.execute(unit.sql)
  return rows[0]?.hours ?? 0
}

/** Forgets since when the mailbox was said to be gone or closed: somebody has granted access to it again. */
export function recordReopened(unit: UnitOfWork, accountId: string): Promise<void> {
  return executeUnawaited(
    unit.sql,
    sql`update account_half set closed_since = null where account_id = ${accountId} and closed_since is not null`,
  )
}

/** Stores why a half of a locked, active account cannot be reached; null once it can be reached again. */
export function storeProblem(
  unit: UnitOfWork,
  accountId: string,
  { kind, problem }: HalfProblem,
): Promise<void> {
  return executeUnawaited(
    unit.sql,
    sql`update account_half set problem = ${problem} where account_id = ${accountId} and kind = ${kind}`,
  )
}

/** Records that halves of these kinds, of a locked account, could be reached again. */
export async function endProblems(
  unit: UnitOfWork,
  accountId: string,
  kinds: Iterable<HalfKind>,
): Promise<void> {
  await lockHalves(unit, [accountId], kinds)
  return executeUnawaited(
    unit.sql,
    sql`update account_half set problem = null where account_id = ${accountId} and kind = any(${[...kinds]}::text[])`,
  )
}

export interface HalfProblem {
  kind: HalfKind
  problem: string | null
}
