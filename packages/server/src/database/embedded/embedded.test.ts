import { execFile, spawn } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { guardFolder } from '../../../test/guard/guard.ts'
import { chooseMemoryFolder } from '../../../test/memory-folder.ts'
import { makePreparedFolder } from '../../../test/prepared-folder.ts'
import { waitUntil } from '../../../test/wait-until.ts'
import { silentLog } from '../../kit/log.ts'
import { connectWhenReady, makePrivateFolder, serverPid, spawnServer, SUPERUSER } from './cluster.ts'
import { type EmbeddedPostgres, openEmbedded } from './embedded.ts'
import { migrate } from '../migrate.ts'
import { clientSettings, type DatabaseAddress } from '../pool.ts'
import { findBinaries, reachableBinaries } from './postgres-binaries.ts'
import { findRunningSocket } from './running-server.ts'
import { postgresUser } from './system-user.ts'
import { numberFor, SOAK } from '../../../test/soak.ts'

/** How often commands start at the same time. */
const ROUNDS = numberFor({ ci: 2, soak: 5 })

const run = promisify(execFile)
const isRoot = process.getuid?.() === 0

async function makeFolder() {
  const folder = await mkdtemp(path.join(await chooseMemoryFolder(), 'waxwing-embedded-'))
  await chmod(folder, 0o711)
  const release = guardFolder(folder)
  return {
    path: folder,
    async [Symbol.asyncDispose]() {
      await rm(folder, { recursive: true, force: true })
      release()
    },
  }
}

/** Puts a data folder whose cluster was created before at this path, whose parent exists. */
async function prepareFolder(dataDir: string) {
  const prepared = await makePreparedFolder()
  await rename(prepared.path, dataDir)
  await prepared[Symbol.asyncDispose]()
}

function openService(dataDir: string): Promise<EmbeddedPostgres> {
  return openEmbedded({ dataDir, as: 'service', log: silentLog })
}

function openCommand(dataDir: string): Promise<EmbeddedPostgres> {
  return openEmbedded({ dataDir, as: 'command', log: silentLog })
}

async function query(address: DatabaseAddress, statement: string) {
  const client = new Client(clientSettings(address, 'waxwing test'))
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(statement)).rows
  } finally {
    await client.end()
  }
}

/** The address for the superuser, who can see and do everything. */
async function superuserOf(dataDir: string, database: string): Promise<DatabaseAddress> {
  const home = path.join(dataDir, 'postgres')
  const password = (await readFile(path.join(home, 'password'), 'utf8')).trim()
  const socketFolder = (await findRunningSocket(clusterOf(dataDir))) ?? ''
  return { socketFolder, user: SUPERUSER, password, database }
}

/** Whether a service holds the server after restarting it: the server answers before that. */
async function isHeld(dataDir: string): Promise<boolean> {
  const holders = await query(
    await superuserOf(dataDir, 'postgres'),
    `select from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and granted and application_name like 'waxwing service%'`,
  )
  return holders.length > 0
}

function clusterOf(dataDir: string) {
  return path.join(dataDir, 'postgres', 'cluster')
}

function socketOf(address: DatabaseAddress) {
  return 'url' in address ? '' : address.socketFolder
}

function isRunning(pid: number) {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

async function requirePid(dataDir: string) {
  const pid = await serverPid(clusterOf(dataDir))
  if (pid === null) throw new Error('No server runs')
  return pid
}

/** Opens a service, which makes the folder, and closes it. */
async function useOnce(dataDir: string): Promise<EmbeddedPostgres> {
  await using service = await openService(dataDir)
  return service
}

/** Runs a server as a service leaves it that was killed. Returns its process id. */
async function leaveServer(dataDir: string, socket: string): Promise<number> {
  const user = await postgresUser()
  const folders = { data: clusterOf(dataDir), socket, log: path.join(dataDir, 'postgres', 'log') }
  await makePrivateFolder(socket, user)
  const binaries = await reachableBinaries(await findBinaries(), user, dataDir, () => {})
  const { pid = 0 } = await spawnServer(binaries, folders, user, {})
  await waitUntil('its socket', () => findRunningSocket(folders.data))
  return pid
}

describe('openEmbedded', () => {
  test('starts a new server that only its owner can reach, and stops it', async () => {
    await using folder = await makeFolder()
    const service = await openService(folder.path)
    const [row] = await query(
      service.address,
      `select current_setting('listen_addresses') as listen, current_setting('data_checksums') as checksums,
        current_setting('server_encoding') as encoding, current_setting('fsync') as fsync`,
    )
    const pid = await requirePid(folder.path)
    expect(row).toEqual({ listen: '', checksums: 'on', encoding: 'UTF8', fsync: 'on' })
    expect((await stat(path.join(folder.path, 'postgres', 'password'))).mode & 0o777).toBe(0o600)
    expect((await stat(clusterOf(folder.path))).mode & 0o777).toBe(0o700)

    await service[Symbol.asyncDispose]()
    expect(isRunning(pid)).toBe(false)
    await expect(query(service.address, 'select 1')).rejects.toThrow(/ENOENT|ECONNREFUSED/)
  })

  test('starts one server for services and commands that start at the same time', async () => {
    await using folder = await makeFolder()
    const commands = await Promise.all([1, 2, 3].map(() => openCommand(folder.path)))
    const pid = await requirePid(folder.path)
    for (const command of commands)
      expect(await query(command.address, 'select 1 as one')).toEqual([{ one: 1 }])
    for (const command of commands) await command[Symbol.asyncDispose]()

    expect(isRunning(pid)).toBe(false)
    expect((await readdir(folder.path)).filter(name => name.startsWith('postgres.new'))).toEqual([])
  })

  test('prepares the database once when many commands start at the same time', async () => {
    await using folder = await makePreparedFolder()
    await using _service = await openService(folder.path)
    const admin = await superuserOf(folder.path, 'waxwing')
    for (let round = 1; round <= ROUNDS; round++) {
      await query(admin, 'reassign owned by waxwing_service to waxwing; drop role waxwing_service')
      const commands = await Promise.all(Array.from({ length: 12 }, () => openCommand(folder.path)))
      for (const { address } of commands)
        expect(await query(address, 'select current_user as name')).toEqual([{ name: 'waxwing_service' }])
      for (const command of commands) await command[Symbol.asyncDispose]()
    }
  })

  test('is shared by services and commands that come and go, and ends with the last of them', async () => {
    await using folder = await makePreparedFolder()
    const service = await openService(folder.path)
    {
      await using command = await openCommand(folder.path)
      expect(command.address).toEqual(service.address)
    }
    expect(await query(service.address, 'select 1 as one')).toEqual([{ one: 1 }])

    const command = await openCommand(folder.path)
    await service[Symbol.asyncDispose]()
    expect(await query(command.address, 'select 1 as one')).toEqual([{ one: 1 }])

    const starting = openService(folder.path)
    await command[Symbol.asyncDispose]()
    const next = await starting
    expect(await query(next.address, 'select 1 as one')).toEqual([{ one: 1 }])

    const last = await openCommand(folder.path)
    await next[Symbol.asyncDispose]()
    const pid = await requirePid(folder.path)
    expect(await query(last.address, 'select 1 as one')).toEqual([{ one: 1 }])
    await last[Symbol.asyncDispose]()
    expect(isRunning(pid)).toBe(false)
  })

  test('restarts the server after SIGKILL and SIGQUIT, with all committed rows', async () => {
    await using folder = await makePreparedFolder()
    await using service = await openService(folder.path)
    await query(service.address, 'create table kept (id int); insert into kept values (1), (2)')
    for (const signal of ['SIGKILL', 'SIGQUIT'] as const) {
      const pid = await requirePid(folder.path)
      process.kill(pid, signal)

      const rows = await vi.waitUntil(
        () => query(service.address, 'select id from kept order by id').catch(() => null),
        { timeout: 60_000, interval: 100 },
      )
      expect(rows).toEqual([{ id: 1 }, { id: 2 }])
      expect(await requirePid(folder.path)).not.toBe(pid)
      await vi.waitUntil(() => isHeld(folder.path), { timeout: 60_000, interval: 20 })
      await expect(openService(folder.path)).rejects.toThrow('in use')
    }
  })

  test('gives a database of the superuser to the role, with everything in it', SOAK, async () => {
    await using folder = await makePreparedFolder()
    const superuser = await (async () => {
      await using _service = await openService(folder.path)
      const admin = await superuserOf(folder.path, 'waxwing')
      // Restores the state that an earlier release left.
      await query(admin, 'reassign owned by waxwing_service to waxwing; drop role waxwing_service')
      await query(
        admin,
        `create table odd (id serial, other int generated always as identity); create view seen as select * from odd;
         create type mood as enum ('good'); create procedure nothing() language sql as '';
         create schema aside; create table aside.odd (id serial);
         create function aside.nothing() returns void language sql as ''`,
      )
      return admin
    })()

    await using service = await openService(folder.path)
    const owners = `
      select relname as name, relowner::regrole::text as owner from pg_class
        where relnamespace in ('public'::regnamespace, 'aside'::regnamespace) and relkind <> 'i'
      union all select proname, proowner::regrole::text from pg_proc where proname = 'nothing'
      union all select nspname, nspowner::regrole::text from pg_namespace where nspname = 'aside'
      union all select 'mood', typowner::regrole::text from pg_type where typname = 'mood'`
    const rows = await query(superuser, owners)
    expect(rows.length).toBeGreaterThan(40)
    expect(rows.filter(({ owner }) => owner !== 'waxwing_service')).toEqual([])

    expect(await migrate(service.address)).toEqual([])
    await query(service.address, 'drop schema aside cascade; alter table odd add column more int')
  })

  test('starts although another program now has the process id of the last server', async () => {
    await using folder = await makePreparedFolder()
    // PostgreSQL itself recognises only processes of other users.
    const stranger = spawn('sleep', ['60'], { stdio: 'ignore', ...(await postgresUser()) })
    using _stranger = { [Symbol.dispose]: () => void stranger.kill() }
    const lock = path.join(clusterOf(folder.path), 'postmaster.pid')
    await writeFile(lock, `${stranger.pid}\n${clusterOf(folder.path)}\n1\n5432\n${folder.path}\n\n`)

    await using service = await openService(folder.path)
    expect(await query(service.address, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  test('starts on a copy that took the place of the folder of a running server', SOAK, async () => {
    await using folder = await makeFolder()
    const dataDir = path.join(folder.path, 'data')
    await prepareFolder(dataDir)
    const socket = socketOf((await useOnce(dataDir)).address)
    // A server that runs removes files while they are copied. Its lock file is copied with the others.
    await run('cp', ['--archive', dataDir, `${dataDir}.copy`])
    const left = await leaveServer(dataDir, socket)
    const lock = path.join('postgres', 'cluster', 'postmaster.pid')
    await run('cp', ['--archive', path.join(dataDir, lock), path.join(`${dataDir}.copy`, lock)])
    await rename(dataDir, `${dataDir}.old`)
    await rename(`${dataDir}.copy`, dataDir)

    await using copy = await openService(dataDir)
    expect(await requirePid(dataDir)).not.toBe(left)
    process.kill(left, 'SIGINT')
    await waitUntil('the server that was left to end', async () => !isRunning(left))
    expect(await query(copy.address, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  test('takes over the server that an earlier release left, whose socket is in another folder', async () => {
    await using folder = await makePreparedFolder()
    const pid = await leaveServer(folder.path, path.join(folder.path, 'postgres', 'run'))
    await using service = await openService(folder.path)
    expect(await requirePid(folder.path)).toBe(pid)
    expect(await query(service.address, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  test('goes on if another process has started a server, which writes to the same log', SOAK, async () => {
    await using folder = await makePreparedFolder()
    const socket = path.join(folder.path, 'postgres', 'run')
    const pid = await leaveServer(folder.path, socket)
    const log = path.join(folder.path, 'postgres', 'log')
    const busy = (await connectWhenReady(await superuserOf(folder.path, 'postgres'), 'waxwing test', 60))!
    await busy.query(`set log_error_verbosity = 'terse'`)
    const ended = busy
      .query(`do $$ begin loop raise log 'busy'; perform pg_sleep(0.001); end loop; end $$`)
      .catch(() => {})
    // As if it did not listen yet.
    await rm(path.join(socket, '.s.PGSQL.5432'))

    const starting = openService(folder.path)
    const settled = starting.then(
      () => true,
      () => true,
    )
    const refusals = async () => (await readFile(log, 'utf8')).split('lock file "postmaster.pid"').length - 1
    await waitUntil('a second try, or an end', async () => {
      return (await refusals()) > 1 || (await Promise.race([settled, false]))
    })
    process.kill(pid, 'SIGINT')
    await ended
    await using service = await starting
    expect(await query(service.address, 'select 1 as one')).toEqual([{ one: 1 }])
    await busy.end()
  })

  test('removes the leftovers of interrupted starts and of other clusters', SOAK, async () => {
    await using folder = await makePreparedFolder()
    await mkdir(path.join(folder.path, 'postgres.new-left', 'cluster'), { recursive: true })
    await using service = await openService(folder.path)
    expect(await readdir(folder.path)).not.toContain('postgres.new-left')
    const home = path.join(folder.path, 'postgres')
    for (const name of ['run', 'run-another']) await mkdir(path.join(home, name))
    await service[Symbol.asyncDispose]()
    await using again = await openService(folder.path)
    const sockets = (await readdir(home)).filter(name => name.startsWith('run'))
    expect(sockets).toEqual([path.basename(socketOf(again.address))])
  })

  test('works in a folder whose path is too long for a socket', SOAK, async () => {
    await using folder = await makeFolder()
    const dataDir = path.join(folder.path, 'deep'.repeat(30))
    await prepareFolder(dataDir)
    await using service = await openService(dataDir)
    await using _socket = { [Symbol.asyncDispose]: () => rm(socketOf(service.address), { recursive: true }) }
    await using command = await openCommand(dataDir)

    expect(service.address).toMatchObject({
      socketFolder: expect.stringMatching(/^\/tmp\/waxwing-[0-9a-f]{16}$/),
    })
    expect(await query(command.address, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  test('quotes the log of a server that does not start', async () => {
    await using folder = await makePreparedFolder()
    await writeFile(path.join(clusterOf(folder.path), 'postgresql.conf'), 'no_such_setting = 1\n')

    await expect(openService(folder.path)).rejects.toThrow(/does not start[^]*no_such_setting/)
  })

  test.runIf(isRoot)(
    'as root, refuses a folder that the user nobody cannot enter, and says what to do',
    async () => {
      await using folder = await makeFolder()
      const closed = path.join(folder.path, 'closed')
      await mkdir(closed, { mode: 0o700 })

      await expect(openService(path.join(closed, 'data'))).rejects.toThrow(`chmod o+x ${closed}`)
    },
  )
})

describe('a service that holds the server', () => {
  let folder: Awaited<ReturnType<typeof makePreparedFolder>>
  let service: EmbeddedPostgres
  beforeAll(async () => {
    folder = await makePreparedFolder()
    service = await openService(folder.path)
  })
  afterAll(async () => {
    await service[Symbol.asyncDispose]()
    await folder[Symbol.asyncDispose]()
  })

  test('is named to a second service in the same folder, which is refused', async () => {
    await expect(openService(folder.path)).rejects.toThrow(
      `${folder.path} is in use by another Waxwing service, process ${process.pid}.`,
    )
  })

  test('connects as a role that owns its database and has no other rights', async () => {
    expect(
      await query(
        service.address,
        `select rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls, datdba = pg_roles.oid as owns
         from pg_roles, pg_database where rolname = current_user and datname = current_database()`,
      ),
    ).toEqual([
      {
        rolsuper: false,
        rolcreatedb: false,
        rolcreaterole: false,
        rolreplication: false,
        rolbypassrls: false,
        owns: true,
      },
    ])
    await expect(query(service.address, `copy (select 1) to program 'true'`)).rejects.toThrow('permission')
    await expect(
      query({ ...service.address, database: 'postgres' } as DatabaseAddress, 'select'),
    ).rejects.toThrow('permission denied for database')
  })

  test('does not keep the values of rows in its log', async () => {
    await query(service.address, 'create table kept (word text primary key)')
    const insert = `insert into kept select convert_from('\\x63616e617279', 'utf8')`
    await query(service.address, insert)
    await expect(query(service.address, insert)).rejects.toThrow('duplicate key')

    const log = await readFile(path.join(folder.path, 'postgres', 'log'), 'utf8')
    expect(log).toContain('duplicate key')
    expect(log).not.toContain('canary')
  })
})
