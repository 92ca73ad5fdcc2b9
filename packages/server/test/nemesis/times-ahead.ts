import { sql } from 'kysely'
import type { Db } from '../../src/database/pool.ts'
import { TIMES } from '../all-stored-times.ts'

/**
 * Columns with a moment that lies ahead, although the clock is right: something waits for a time that was set in the
 * future, or takes it that something happened there.
 */
export async function listTimesAhead(db: Db): Promise<string[]> {
  const ahead: string[] = []
  for (const { table, among = sql<boolean>`true`, waits = {}, past = [] } of TIMES) {
    const setAt = Object.values(waits).flatMap(wait =>
      'setAt' in wait ? [{ column: wait.setAt, isKept: wait.unless ?? sql<boolean>`false` }] : [],
    )
    const happened = past.map(column => ({ column, isKept: sql<boolean>`false` }))
    for (const { column, isKept } of [...setAt, ...happened]) {
      const { rows } = await sql`
        select from ${sql.table(table)}
        where ${among} and not ${isKept} and ${sql.ref(column)} > clock_timestamp() limit 1
      `.execute(db)
      if (rows.length > 0) ahead.push(`${table}.${column}`)
    }
  }
  return ahead
}
