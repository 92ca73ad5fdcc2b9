import type { Client } from 'pg'
import type { DatabaseAddress } from '../pool.ts'
import { ensureServiceRole, SERVICE_ROLE } from './service-role.ts'

/** Advisory lock of the database `postgres`. */
const PREPARING = 0x57_41_58_52

/**
 * Creates the database of the service and the role that owns it, if they are missing. One process at a time: PostgreSQL
 * fails one of two sessions that change the same role or database ("tuple concurrently updated").
 *
 * @param control a superuser's session in the database `postgres`. End it if this fails: it may hold the lock.
 * @param address the address of the service's database for the superuser
 */
export async function ensureDatabase(
  control: Client,
  address: Extract<DatabaseAddress, { password: string }>,
): Promise<void> {
  if ((await findOwner(control, address.database)) === SERVICE_ROLE) return
  await control.query('select pg_advisory_lock($1)', [PREPARING])
  const owner = await findOwner(control, address.database)
  if (owner === null) await control.query(`create database ${control.escapeIdentifier(address.database)}`)
  if (owner !== SERVICE_ROLE) await ensureServiceRole(control, address)
  await control.query('select pg_advisory_unlock($1)', [PREPARING])
}

/** The role that owns the database; null if there is no such database. */
async function findOwner(control: Client, database: string): Promise<string | null> {
  const { rows } = await control.query<{ owner: string }>(
    'select datdba::regrole::text as owner from pg_database where datname = $1',
    [database],
  )
  return rows[0]?.owner ?? null
}
