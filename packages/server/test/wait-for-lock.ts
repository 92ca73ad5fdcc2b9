import { sql } from 'kysely'
import type { Db } from '../src/database/pool.ts'
import { waitUntil } from './wait-until.ts'

/** Waits until a statement in the database waits for a lock that another transaction holds. */
export async function waitForLock(db: Db): Promise<void> {
  await waitUntil('a statement that waits for a lock', async () => {
    const { rows } = await sql`
      select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
    `.execute(db)
    return rows.length > 0
  })
}
