import { sql } from 'kysely'
import type { Db } from './pool.ts'

/** First key of the two-key advisory locks for work that runs in one process at a time. */
const ALONE_LOCK_CLASS = 0x57_41_5a

/**
 * Runs `work` unless another process of the installation is running work of that name; then it returns false at once. A
 * connection is held during the work. If the process dies, the name is free again; if its machine is lost, within half a
 * minute.
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
