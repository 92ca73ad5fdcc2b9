import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../database/pool.ts'
import type { HalfKind } from './halves/kind.ts'

/** The window of `askForSync` and its limit. */
const WAKES_PER_WINDOW = 30
const WAKE_WINDOW_SECONDS = 60

/** A request for passes over halves of an account. A kind without a half leaves no want. */
export interface AskedSync {
  kinds: readonly HalfKind[]
  /** Further wants, such as `RENEWAL`. */
  words?: readonly string[]
}

const windowStart = sql`(clock_timestamp() - make_interval(secs => ${WAKE_WINDOW_SECONDS}))`

const mayAsk = sql`(wake_count < ${WAKES_PER_WINDOW} or wake_window_at <= ${windowStart})`

/**
 * Records that passes over these halves are wanted. Returns null if that was done, otherwise the seconds until it may be
 * requested again. The window is in the account's row, so all instances share it. Must not be called by a transaction
 * that holds a half.
 */
export async function askForSync(
  db: Db,
  account: { id: string; tenant_id: string },
  { kinds, words = [] }: AskedSync,
): Promise<number | null> {
  const { rows: asked } = await sql<{ isCounted: boolean }>`
    with counted as (
      update account set
        wake_count = case when wake_window_at > ${windowStart} then wake_count + 1 else 1 end,
        wake_window_at = case when wake_window_at > ${windowStart} then wake_window_at else clock_timestamp() end
      where tenant_id = ${account.tenant_id} and id = ${account.id} and ${mayAsk}
      returning id
    ), asked as (
      update account_half set ${wanting(words)}
      from counted where account_half.account_id = counted.id and kind = any(${[...kinds]}::text[])
    )
    select exists (select from counted) as "isCounted"
  `.execute(db)
  if (asked[0]?.isCounted) return null
  const { rows } = await sql<{ seconds: number | null }>`
    select ceil(extract(epoch from wake_window_at - ${windowStart}))::integer as seconds
    from account where id = ${account.id}
  `.execute(db)
  return Math.max(1, rows[0]?.seconds ?? 1)
}

/**
 * Records that a pass over a half is wanted, for a change that may hold the half already. It is not counted, since the
 * account must not be locked after its half; while no more may be requested, nothing is recorded.
 */
export async function askWithinChange(
  db: Db,
  account: { id: string; tenant_id: string },
  kind: HalfKind,
): Promise<void> {
  await sql`
    update account_half set ${wanting([])}
    where account_id = ${account.id} and kind = ${kind} and exists (
      select from account where tenant_id = ${account.tenant_id} and id = ${account.id} and ${mayAsk})
  `.execute(db)
}

function wanting(words: readonly string[]): RawBuilder<unknown> {
  return sql`sync_wanted = array(select distinct unnest(sync_wanted || kind || ${[...words]}::text[]))`
}
