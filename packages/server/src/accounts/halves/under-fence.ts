import type { RawBuilder } from 'kysely'
import type { Db } from '../../database/pool.ts'
import { inTransaction, type UnitOfWork } from '../../events/unit-of-work.ts'
import type { HalfKind } from './kind.ts'
import { holdingOwned } from './lock.ts'
import { FenceLost, type OwnedAccount } from './ownership.ts'

export interface Fence<Loaded> {
  db: Db
  owned: OwnedAccount
  kind: HalfKind
  /**
   * Reads what the work needs of the account, after a statement that locks its half. Null if that statement finds no
   * row, or if the account was deleted.
   */
  load(unit: UnitOfWork, locking: RawBuilder<unknown>): Promise<Loaded | null>
  /** Called before the half is locked. */
  begin?(unit: UnitOfWork): Promise<void>
}

/**
 * A transaction that commits only while a half of the account is owned, and keeps it so until the commit.
 * @throws FenceLost
 */
export function underFenceOf<Loaded, T>(
  { db, owned, kind, load, begin }: Fence<Loaded>,
  work: (unit: UnitOfWork, loaded: Loaded) => Promise<T>,
): Promise<T> {
  return inTransaction(db, owned.tenantId, async unit => {
    await begin?.(unit)
    const loaded = await load(unit, holdingOwned(owned, kind))
    if (loaded === null) throw new FenceLost(owned.id)
    return work(unit, loaded)
  })
}
