import { chmod, chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { connectWhenReady, createCluster, spawnServer, SUPERUSER } from '../src/database/cluster.ts'
import type { DatabaseAddress } from '../src/database/pool.ts'
import { findBinaries, reachableBinaries } from '../src/database/postgres-binaries.ts'
import { postgresUser } from '../src/database/system-user.ts'

/** A PostgreSQL for tests and scripts: fast, on a unix socket in a temporary folder, gone when disposed. */
export interface PostgresServer extends AsyncDisposable {
  socketFolder: string
  password: string
  address(database: string): DatabaseAddress
}

const START_SECONDS = 60
/** Nothing here outlives the run, so nothing has to reach the disk. */
const UNSAFE_AND_FAST = {
  fsync: 'off',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '300',
  shared_buffers: '128MB',
  autovacuum_naptime: '10s',
}

/** Starts one. `version` 16 takes the older release that is still supported. */
export async function startPostgresServer(version?: '16'): Promise<PostgresServer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-test-'))
  const user = await postgresUser()
  if (user) {
    await chown(folder, user.uid, user.gid)
    await chmod(folder, 0o700)
  }
  const packageName = version === '16' ? `postgres16-${process.platform}-${process.arch}` : undefined
  const found = await findBinaries(packageName)
  const binaries = await reachableBinaries(found, user, path.join(folder, 'binaries'), () => {})
  const folders = { data: path.join(folder, 'data'), socket: folder, log: path.join(folder, 'log') }
  // The builtin locale provider is newer than 16.
  const locale = version === '16' ? ['--locale=C.UTF-8'] : undefined
  const password = await createCluster(binaries, folders.data, user, locale)
  const child = await spawnServer(binaries, folders, user, UNSAFE_AND_FAST)
  const address = (database: string) => ({ socketFolder: folder, user: SUPERUSER, password, database })
  const client = await connectWhenReady(
    address('postgres'),
    'waxwing test',
    START_SECONDS,
    () => child.exitCode !== null,
  )
  if (!client) throw new Error(`PostgreSQL did not start, see ${folders.log}`)
  await client.end()
  return {
    socketFolder: folder,
    password,
    address,
    async [Symbol.asyncDispose]() {
      const ended = new Promise(resolve => child.once('exit', resolve))
      child.ref()
      // Immediate shutdown: there is nothing to keep.
      if (child.exitCode === null && child.kill('SIGQUIT')) await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}
