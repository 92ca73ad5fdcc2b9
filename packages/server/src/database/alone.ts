import { sql } from 'kysely'
import type { Db } from './pool.ts'

/** First key of the two-key advisory locks under which something runs in one process at a time. */
const ALONE_LOCK_CLASS = 0x57_41_5a

/**
 * Runs `work` while no other process of the installation runs work of that name. Returns false at once if one does. A
 * connection is held during the work; if the process dies, the name is free again.
 */
export async function runAlone(db: Db, name: string, work: () => Promise<void>): Promise<boolean> {
  return db.connection().execute(async connection => {
    const lock = sql`${ALONE_LOCK_CLASS}::int, hashtext(${name})`
    const { rows } = await sql<{ isOurs: boolean }>`select pg_try_advisory_lock(${lock}) as "isOurs"`.execute(
      connection,
    )
    if (!rows[0]?.isOurs) return false
    try {
      await work()
      return true
    } finally {
      await sql`select pg_advisory_unlock(${lock})`.execute(connection)
    }
  })
}
