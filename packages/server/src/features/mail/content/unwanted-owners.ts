import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { FIRST_ID } from '../../../kit/ids.ts'

/** Accounts with stored content that one sweep looks at. The next one goes on behind them. */
const OWNERS_MAX = 1_000

/** Progress of the sweeps of this process. */
export interface OwnerWalk {
  afterId: string
}

export function beginOwnerWalk(): OwnerWalk {
  return { afterId: FIRST_ID }
}

/**
 * Reads the next accounts that have stored content, and returns the ones that should store none. It walks the index of
 * stored content, so a sweep reads no more when there are more accounts.
 */
export async function listUnwantedOwners(db: Db, walk: OwnerWalk): Promise<string[]> {
  const { rows } = await sql<{ id: string; is_unwanted: boolean }>`
    with recursive owner (id) as (
      (select account_id from message_blob where account_id > ${walk.afterId} order by account_id limit 1)
      union all
      select (
        select account_id from message_blob where account_id > owner.id order by account_id limit 1
      ) from owner where owner.id is not null
    ), page as (select id from owner where id is not null limit ${OWNERS_MAX})
    select account.id,
      coalesce(settings_override ->> 'bodyStorage', tenant.settings ->> 'bodyStorage') = 'none' as is_unwanted
    from page join account using (id) join tenant on tenant.id = account.tenant_id
    order by account.id
  `.execute(db)
  walk.afterId = rows.length === OWNERS_MAX ? rows.at(-1)!.id : FIRST_ID
  return rows.filter(row => row.is_unwanted).map(({ id }) => id)
}
