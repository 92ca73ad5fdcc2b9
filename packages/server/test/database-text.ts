import { sql } from 'kysely'
import type { Db } from '../src/database/pool.ts'

/**
 * Lists the tables that contain a text in plaintext in any column: as text, in JSON, or as the bytes of a `bytea`.
 * Bytes are searched for in hexadecimal, as PostgreSQL prints them, and in base64.
 */
export async function tablesWith(db: Db, secret: string | Buffer): Promise<string[]> {
  const { rows } = await sql<{ schema: string; name: string }>`
    select schemaname as schema, tablename as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema') order by 1, 2
  `.execute(db)
  const hex = Buffer.from(secret).toString('hex')
  const text = typeof secret === 'string' ? secret : secret.toString('base64')
  const found: string[] = []
  for (const { schema, name } of rows) {
    const { rows: hits } = await sql`
      select from ${sql.table(`${schema}.${name}`)} as entry
      where position(${text} in entry::text) > 0 or position(${hex} in entry::text) > 0 limit 1
    `.execute(db)
    if (hits.length > 0) found.push(name)
  }
  return found
}
