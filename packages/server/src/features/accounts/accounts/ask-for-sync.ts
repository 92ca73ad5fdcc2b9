import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { wantedWith } from './store.ts'

/** The window of `askForSync` and its limit. */
const WAKES_PER_WINDOW = 30
const WAKE_WINDOW_SECONDS = 60

/**
 * Records that passes of these kinds are wanted. Returns null if that was done, otherwise the seconds until it may be
 * requested again. The window is in the account's row, so all instances share it.
 */
export async function askForSync(
  db: Db,
  account: { id: string; tenant_id: string },
  kinds: readonly string[],
): Promise<number | null> {
  const windowStart = sql`(clock_timestamp() - make_interval(secs => ${WAKE_WINDOW_SECONDS}))`
  const asked = await db
    .updateTable('account')
    .set({
      sync_wanted: wantedWith(kinds),
      wake_count: sql`case when wake_window_at > ${windowStart} then wake_count + 1 else 1 end`,
      wake_window_at: sql`case when wake_window_at > ${windowStart} then wake_window_at else clock_timestamp() end`,
    })
    .where('tenant_id', '=', account.tenant_id)
    .where('id', '=', account.id)
    .where(sql<boolean>`(wake_count < ${WAKES_PER_WINDOW} or wake_window_at <= ${windowStart})`)
    .executeTakeFirst()
  if (asked.numUpdatedRows > 0n) return null
  const { rows } = await sql<{ seconds: number | null }>`
    select ceil(extract(epoch from wake_window_at - ${windowStart}))::integer as seconds
    from account where id = ${account.id}
  `.execute(db)
  return Math.max(1, rows[0]?.seconds ?? 1)
}
