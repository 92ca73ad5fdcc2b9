import type { Pool } from 'pg'
import { isWithheld } from './withheld.ts'

/**
 * An id of the database by which two installations on one machine are told apart. It reveals nothing about the
 * database. Null if the role may not read the server's identity.
 */
export async function findInstallationId(pool: Pool): Promise<string | null> {
  const { rows } = await pool
    .query<{ id: string }>(
      `select encode(sha256(convert_to(system_identifier || '/' || oid, 'UTF8')), 'hex') as id
       from pg_control_system(), pg_database where datname = current_database()`,
    )
    .catch((error: unknown) => {
      if (isWithheld(error)) return { rows: [] }
      throw error
    })
  return rows[0]?.id ?? null
}
