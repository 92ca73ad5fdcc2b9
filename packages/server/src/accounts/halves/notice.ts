import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../database/pool.ts'
import { unflushed } from '../../database/unflushed.ts'
import type { HalfKind } from './kind.ts'
import { NOTICE, wantedWith } from './wanted.ts'

/**
 * Asks for a look at the active accounts that a push is meant for. Returns the ids of those for which none was asked for
 * yet. A crash of the database may lose it, as a push may be lost on its way.
 * @param isMeant a condition on `account`
 */
export async function recordPushed(db: Db, kind: HalfKind, isMeant: RawBuilder<boolean>): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    update account_half set sync_wanted = ${wantedWith([NOTICE])}
    from account
    where account.id = account_half.account_id and kind = ${kind} and ${isMeant}
      and deleted_at is null and status = 'active'
      and not sync_wanted @> array[${NOTICE}]::text[] and ${unflushed}
    returning id
  `.execute(db)
  return rows.map(({ id }) => id)
}

/** Result of asking for looks at many accounts at once. */
export interface Pushed {
  /** Accounts for which no look was asked for yet. */
  ids: string[]
  /** Accounts whose halves others hold. They are to be asked for again. */
  heldIds: string[]
}

/**
 * As `recordPushed`, for accounts that have nothing to do with each other: it waits for none of them, since one that is
 * held would keep back all others.
 */
export async function recordPushedToMany(
  db: Db,
  kind: HalfKind,
  isMeant: RawBuilder<boolean>,
): Promise<Pushed> {
  const { rows } = await sql<{ id: string; isHeld: boolean }>`
    with meant as (
      select account.id from account_half join account on account.id = account_half.account_id
      where kind = ${kind} and ${isMeant} and deleted_at is null and status = 'active'
        and not sync_wanted @> array[${NOTICE}]::text[] and ${unflushed}
    ),
    free as (
      select account_id from account_half where kind = ${kind} and account_id in (select id from meant)
      for no key update skip locked
    ),
    noticed as (
      update account_half set sync_wanted = ${wantedWith([NOTICE])}
      from free where account_half.account_id = free.account_id and kind = ${kind}
      returning account_half.account_id
    )
    select account_id as id, false as "isHeld" from noticed
    union all
    select id, true from meant where id not in (select account_id from free)
  `.execute(db)
  const idsOf = (isHeld: boolean) => rows.filter(row => row.isHeld === isHeld).map(({ id }) => id)
  return { ids: idsOf(false), heldIds: idsOf(true) }
}
