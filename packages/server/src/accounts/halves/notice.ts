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
