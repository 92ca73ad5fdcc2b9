import type { Client } from 'pg'

/**
 * Advisory locks of the database `postgres` record who uses an embedded server. They end with their connection, and so
 * with the process, however it ends. A service holds OWNER exclusively. Commands share USERS.
 */
const OWNER = 0x57_41_58_4f
const USERS = 0x57_41_58_55

export async function tryOwn(client: Client): Promise<boolean> {
  return tryLock(client, 'pg_try_advisory_lock', OWNER)
}

export async function joinUsers(client: Client): Promise<void> {
  await client.query('select pg_advisory_lock_shared($1)', [USERS])
}

/** Returns true if no command uses the server. New commands then wait until the caller's connection ends. */
export async function tryLockOutUsers(client: Client): Promise<boolean> {
  return tryLock(client, 'pg_try_advisory_lock', USERS)
}

/**
 * Called by a command at its end. Returns true if no service and no other command uses the server, and none can join.
 */
export async function tryBeLast(client: Client): Promise<boolean> {
  await client.query('select pg_advisory_unlock_shared($1)', [USERS])
  return (await tryOwn(client)) && (await tryLockOutUsers(client))
}

/** The application name of the holder of OWNER, or null if it is gone. */
export async function findOwner(client: Client): Promise<string | null> {
  const { rows } = await client.query<{ name: string }>(
    `select application_name as name from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and classid = 0 and objid = $1::bigint::oid and objsubid = 1 and granted`,
    [OWNER],
  )
  return rows[0]?.name ?? null
}

async function tryLock(client: Client, name: string, key: number) {
  const { rows } = await client.query<{ mine: boolean }>(`select ${name}($1) as mine`, [key])
  return rows[0]?.mine === true
}
