import { chown, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { postgresUser } from '../../src/database/embedded/system-user.ts'
import { SUPERUSER } from '../../src/database/embedded/cluster.ts'
import type { PostgresServer } from '../postgres-server.ts'
import { startDaemon } from './daemon.ts'
import { requirePgBouncer } from './install.ts'

export interface PgBouncer extends AsyncDisposable {
  /** The URL of a database of the server behind it. */
  url(database: string): string
}

/** Starts a pooler before a server. `settings` are lines of the section `pgbouncer`. */
export async function startPgBouncer(
  server: Pick<PostgresServer, 'socketFolder' | 'password'>,
  settings: Readonly<Record<string, string>>,
): Promise<PgBouncer> {
  const program = requirePgBouncer()
  const user = await postgresUser()
  const daemon = await startDaemon({
    name: 'pgbouncer',
    portCount: 1,
    isSilent: true,
    async prepare(folder, [port]) {
      const file = join(folder, 'pgbouncer.ini')
      const log = join(folder, 'log')
      const lines = Object.entries({
        listen_addr: '127.0.0.1',
        listen_port: String(port),
        unix_socket_dir: '',
        logfile: log,
        auth_type: 'any',
        default_pool_size: '40',
        ...settings,
      }).map(([name, value]) => `${name} = ${value}`)
      const behind = `host=${server.socketFolder} user=${SUPERUSER} password=${server.password}`
      await writeFile(file, `[databases]\n* = ${behind}\n[pgbouncer]\n${lines.join('\n')}\n`)
      // It refuses to run as root.
      if (user) for (const each of [folder, file]) await chown(each, user.uid, user.gid)
      return { command: program, args: [...(user ? ['-u', 'nobody'] : []), file], log }
    },
  })
  return {
    url: database => `postgres://${SUPERUSER}:any@127.0.0.1:${daemon.ports[0]}/${database}`,
    [Symbol.asyncDispose]: () => daemon[Symbol.asyncDispose](),
  }
}
