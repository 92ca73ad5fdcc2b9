import { sql } from 'kysely'
import type { Db } from '../src/database/pool.ts'
import { waitUntil } from './wait-until.ts'

/** Does the work while no process runs the recurring task of this name, so that nothing is done beside it. */
export function whileTaskRests<T>(db: Db, name: string, work: () => Promise<T>): Promise<T> {
  return db.transaction().execute(async holder => {
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(holder)
    await waitUntil(`the task ${name} to rest`, async () => {
      // Claims pass over a row that is locked.
      const { rows } = await sql`
        select from recurring_task where name = ${name} and claimed_by is null for update`.execute(holder)
      return rows.length > 0
    })
    return work()
  })
}
