import { sql } from 'kysely'
import { SUPERUSER } from '../src/database/embedded/cluster.ts'
import { migrate } from '../src/database/migrate.ts'
import { type Database, openDatabase } from '../src/database/pool.ts'
import { startPostgresServer } from './postgres-server.ts'
import { waitUntil } from './wait-until.ts'

const NAME = 'waxwing test'
/** With these, a commit outlives the processes of the server, though not the machine. */
const LASTING = { synchronous_commit: 'on' }

/** A database on a server of its own, whose processes may be killed at any time. */
export interface KillableDatabase extends AsyncDisposable {
  url: string
  database: Database
  /** Kills a process that serves somebody else, if there is one. The server then ends all its processes, and recovers. */
  killConnection(): Promise<void>
  /** Kills all processes, and starts the server again. */
  killServer(): Promise<void>
}

export async function openKillableDatabase(): Promise<KillableDatabase> {
  await using opened = new AsyncDisposableStack()
  const server = opened.use(await startPostgresServer(undefined, LASTING))
  const address = server.address('postgres')
  await migrate(address)
  const database = opened.use(openDatabase({ address, applicationName: NAME }))
  const { db } = database
  /** The server replaces its checkpointer when it has ended all its processes. */
  const hasRecoveredSince = (time: Date) =>
    sql`select from pg_stat_activity where backend_type = 'checkpointer' and backend_start > ${time}`
      .execute(db)
      .then(
        ({ rows }) => rows.length > 0,
        () => false,
      )
  const owned = opened.move()
  return {
    url: `postgres://${SUPERUSER}:${server.password}@localhost/postgres?host=${encodeURIComponent(server.socketFolder)}`,
    database,
    async killConnection() {
      const { rows } = await sql<{ pid: number; now: Date }>`
        select pid, clock_timestamp() as now from pg_stat_activity
        where backend_type = 'client backend' and application_name <> ${NAME} order by random() limit 1
      `.execute(db)
      for (const { pid, now } of rows) {
        process.kill(pid, 'SIGKILL')
        // For a moment after it, the server goes on as if nothing had happened.
        await waitUntil('the database to recover', () => hasRecoveredSince(now))
      }
    },
    async killServer() {
      await server.kill()
      // The memory that the processes shared may be in use for a moment longer.
      await waitUntil('the database to start', () =>
        server.start().then(
          () => true,
          () => false,
        ),
      )
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
