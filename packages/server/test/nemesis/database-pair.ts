import { join } from 'node:path'
import { type PostgresServer, startPostgresServer } from '../postgres-server.ts'
import type { ProxyTarget } from '../servers/fault-proxy.ts'
import { query, replicateSynchronously, startStandby } from '../standby.ts'
import { waitUntil } from '../wait-until.ts'

/** The database server of a run, in long runs with a standby for which commits wait. */
export interface DatabasePair extends AsyncDisposable {
  /** The server that takes writes. */
  readonly primary: PostgresServer
  /** Where it listens. */
  target(): ProxyTarget
  /** Starts a standby. Called after the migrations. */
  addStandby(): Promise<void>
  /** Kills the primary and promotes its standby, once a process has noted that commits wait for it. */
  failOver(): Promise<void>
}

/** Commits reach the disk before they are acknowledged, as in production. */
const DURABLE = { fsync: 'on', synchronous_commit: 'on', full_page_writes: 'on' }
/** By default a standby waits for 5 s before it connects again, and commits with it. */
const STANDBY = { ...DURABLE, wal_retrieve_retry_interval: '200ms' }
const NOTE_SECONDS_MAX = 60

export async function openDatabasePair(): Promise<DatabasePair> {
  const former: PostgresServer[] = []
  let primary = await startPostgresServer(undefined, DURABLE)
  let standby: PostgresServer | null = null

  async function addStandby() {
    await using backup = await primary.takeBaseBackup()
    standby = await startStandby(primary, backup, STANDBY)
    await replicateSynchronously(primary)
  }
  return {
    get primary() {
      return primary
    },
    target: () => ({ path: join(primary.socketFolder, '.s.PGSQL.5432') }),
    addStandby,
    async failOver() {
      if (!standby) throw new Error('There is no standby')
      const address = primary.address('postgres')
      await waitUntil(
        'a process to note that commits wait for the standby',
        async () =>
          (await query<{ standby: string }>(address, 'select standby from feed_epoch'))[0]?.standby ===
          'sync',
        NOTE_SECONDS_MAX,
      )
      await primary.kill()
      former.push(primary)
      primary = standby
      standby = null
      const promoted = primary.address('postgres')
      // Otherwise commits would wait for a standby of its own.
      await query(promoted, `alter system set synchronous_standby_names = ''`)
      await query(promoted, 'select pg_reload_conf()')
      await query(promoted, 'select pg_promote()')
    },
    async [Symbol.asyncDispose]() {
      for (const server of [standby, primary, ...former]) await server?.[Symbol.asyncDispose]()
    },
  }
}
