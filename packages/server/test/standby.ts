import { Client } from 'pg'
import { SUPERUSER } from '../src/database/embedded/cluster.ts'
import { clientSettings, type DatabaseAddress } from '../src/database/pool.ts'
import { type BaseBackup, type PostgresServer, startPostgresServer } from './postgres-server.ts'
import { waitUntil } from './wait-until.ts'

export const VERSION = process.env['WAXWING_TEST_PG'] === '16' ? '16' : undefined
/** With these, a commit outlives the processes of the server. */
export const LASTING = { synchronous_commit: 'on' }

export async function query<Row extends object>(address: DatabaseAddress, text: string): Promise<Row[]> {
  const client = new Client(clientSettings(address, 'a test'))
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}

/** A standby that follows a primary. `more` are settings besides. */
export function startStandby(
  primary: PostgresServer,
  backup: BaseBackup,
  more: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  const { socketFolder, password } = primary
  const settings = {
    ...LASTING,
    ...more,
    primary_conninfo: `host=${socketFolder} user=${SUPERUSER} password=${password}`,
  }
  return startPostgresServer(VERSION, settings, { backup, as: 'standby' })
}

/** From now on, commits of the primary wait for one of its standbys. */
export async function replicateSynchronously(primary: PostgresServer): Promise<void> {
  const admin = primary.address('postgres')
  await query(admin, `alter system set synchronous_standby_names = '*'`)
  await query(admin, 'select pg_reload_conf()')
  await waitUntil('the standby to be synchronous', async () => {
    const rows = await query(admin, `select from pg_stat_replication where sync_state = 'sync'`)
    return rows.length > 0
  })
}
