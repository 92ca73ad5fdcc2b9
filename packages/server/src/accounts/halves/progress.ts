import { type Kysely, sql } from 'kysely'
import type { Tables } from '../../database/tables.ts'
import type { UnitOfWork } from '../../events/unit-of-work.ts'
import type { HalfKind } from './kind.ts'
import { FenceLost, isOwned, type OwnedAccount } from './ownership.ts'

/**
 * Numbers the look that begins: messages found missing from now on are distinguished from those missing before.
 * @throws FenceLost
 */
export async function beginLook(db: Kysely<Tables>, owned: OwnedAccount, kind: HalfKind): Promise<number> {
  const { rows } = await sql<{ look: number }>`
    update account_half set look = look + 1 where ${isOwned(owned, kind)} returning look::float8 as look
  `.execute(db)
  if (!rows[0]) throw new FenceLost(owned.id)
  return rows[0].look
}

/** Holds an account for a step that changes it as well as its half: before the half, as everybody does. */
export async function holdAccount(unit: UnitOfWork, accountId: string): Promise<void> {
  await sql`select from account where id = ${accountId} for no key update`.execute(unit.sql)
}

/** Records that the first sync of a half is complete. Its account must be held by `holdAccount`. */
export async function recordInitialized(unit: UnitOfWork, accountId: string, kind: HalfKind): Promise<void> {
  await sql`
    with shown as (update account set updated_at = clock_timestamp() where id = ${accountId})
    update account_half set initialized_at = clock_timestamp() where account_id = ${accountId} and kind = ${kind}
  `.execute(unit.sql)
}

/** Records that a half ended and begins again, if ever. Its account must be held by `holdAccount`. */
export async function recordEnded(unit: UnitOfWork, accountId: string, kind: HalfKind): Promise<void> {
  await sql`
    with shown as (update account set updated_at = clock_timestamp() where id = ${accountId})
    update account_half set initialized_at = null, differs_since = null, verified_at = null
    where account_id = ${accountId} and kind = ${kind}
  `.execute(unit.sql)
}
