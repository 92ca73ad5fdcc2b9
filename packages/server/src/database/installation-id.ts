import type { Pool } from 'pg'

/** Tells one installation from another on the same machine: that of a database, whoever asks. Says nothing else of it. */
export async function findInstallationId(pool: Pool): Promise<string> {
  const { rows } = await pool.query<{ id: string }>(`
    select encode(sha256(convert_to(system_identifier || '/' || oid, 'UTF8')), 'hex') as id
    from pg_control_system(), pg_database where datname = current_database()`)
  const [row] = rows
  if (!row) throw new Error('The database does not know itself')
  return row.id
}
