import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { HalfKind } from '../halves/kind.ts'

/** The window of `askForSync` and its limit. */
const WAKES_PER_WINDOW = 30
const WAKE_WINDOW_SECONDS = 60

/** A request for passes over halves of an account. */
export interface AskedSync {
  kinds: readonly HalfKind[]
  /** What else is wanted of them, such as `RENEWAL`. */
  words?: readonly string[]
  /**
   * Whether this transaction holds a half already. Then it does not wait for a change of the account, which may wait for
   * the half: while there is one, the request is not counted.
   */
  isHeld?: boolean
}

/**
 * Records that passes over these halves are wanted. Returns null if that was done, otherwise the seconds until it may be
 * requested again. The window is in the account's row, so all instances share it. A kind without a half leaves no want.
 */
export async function askForSync(
  db: Db,
  account: { id: string; tenant_id: string },
  { kinds, words = [], isHeld = false }: AskedSync,
): Promise<number | null> {
  const windowStart = sql`(clock_timestamp() - make_interval(secs => ${WAKE_WINDOW_SECONDS}))`
  const mayAsk = sql`tenant_id = ${account.tenant_id} and id = ${account.id}
    and (wake_count < ${WAKES_PER_WINDOW} or wake_window_at <= ${windowStart})`
  const { rows: asked } = await sql<{ isAsked: boolean }>`
    with held as (
      select id from account where ${mayAsk} for no key update ${isHeld ? sql`skip locked` : sql``}
    ), counted as (
      update account set
        wake_count = case when wake_window_at > ${windowStart} then wake_count + 1 else 1 end,
        wake_window_at = case when wake_window_at > ${windowStart} then wake_window_at else clock_timestamp() end
      from held where account.id = held.id returning account.id
    ), free as (
      select id from counted ${isHeld ? sql`union select id from account where ${mayAsk}` : sql``}
    ), asked as (
      update account_half set
        sync_wanted = array(select distinct unnest(sync_wanted || kind || ${[...words]}::text[]))
      from free where account_half.account_id = free.id and kind = any(${[...kinds]}::text[])
    )
    select exists (select from free) as "isAsked"
  `.execute(db)
  if (asked[0]?.isAsked) return null
  const { rows } = await sql<{ seconds: number | null }>`
    select ceil(extract(epoch from wake_window_at - ${windowStart}))::integer as seconds
    from account where id = ${account.id}
  `.execute(db)
  return Math.max(1, rows[0]?.seconds ?? 1)
}
