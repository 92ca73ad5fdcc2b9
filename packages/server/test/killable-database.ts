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
  /** Kills a process that serves somebody else. The server then ends all its processes, and recovers. */
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
  const isReady = () =>
    sql`select 1`.execute(db).then(
      () => true,
      () => false,
    )
  const owned = opened.move()
  return {
    url: `postgres://${SUPERUSER}:${server.password}@localhost/postgres?host=${encodeURIComponent(server.socketFolder)}`,
    database,
    async killConnection() {
      const { rows } = await sql<{ pid: number }>`
        select pid from pg_stat_activity
        where backend_type = 'client backend' and application_name <> ${NAME} order by random() limit 1
      `.execute(db)
      for (const { pid } of rows) process.kill(pid, 'SIGKILL')
      await waitUntil('the database to recover', isReady)
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
