import { statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { Pool } from 'pg'
import { clientSettings } from '../packages/server/src/database/pool.ts'
import { startPostgresServer } from '../packages/server/test/postgres-server.ts'
import { type Cpu, meterCpu } from './cpu.ts'
import { short } from './figures.ts'
import { readMemory } from './process-stats.ts'
import type { BenchService } from './service.ts'

/** As in production, with the extension that counts statements. */
const DURABLE = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  max_connections: '120',
  autovacuum_naptime: '15s',
  max_wal_size: '2GB',
  jit: 'off',
  shared_preload_libraries: 'pg_stat_statements',
}
const DATABASE = 'postgres'
/** Marks the statements of the benchmark. */
const OURS = '/* bench */'
const BYTES_PER_KB = 1024
/** The unit of stat(2), whatever the file system's. */
const BLOCK_BYTES = 512

/** Usage of an installation since its start. */
interface Used {
  /** With BEGIN and COMMIT. */
  statements: number
  walBytes: number
  databaseBytes: number
  blobBytes: number
  /** Resident memory of the service. */
  memoryMb: number
}

export interface Cost extends Used {
  cpu: Cpu
}

export interface Meter extends AsyncDisposable {
  url: string
  /** Counts rows, such as of `event where type = 'message.created'`. Questions of the benchmark are not measured. */
  count(what: string): Promise<number>
  /** @returns what one of `count` things cost that happen during `work` */
  costOfEach(service: BenchService, count: number, work: () => Promise<void>): Promise<Cost>
}

/** A database of its own for the service, and what is spent in both. */
export async function openMeter(): Promise<Meter> {
  await using opened = new AsyncDisposableStack()
  const server = opened.use(await startPostgresServer(undefined, DURABLE))
  const pool = new Pool({ ...clientSettings(server.address(DATABASE), 'a benchmark'), max: 2 })
  opened.defer(() => pool.end())
  await pool.query('create extension pg_stat_statements')
  const owned = opened.move()
  const read = (service: BenchService) => readUsed(pool, service)
  return {
    url: server.url(DATABASE),
    async count(what) {
      const { rows } = await pool.query<{ rows: number }>(`select ${OURS} count(*)::int as rows from ${what}`)
      return rows[0]?.rows ?? 0
    },
    async costOfEach(service, count, work) {
      const before = await read(service)
      const used = meterCpu()
      await work()
      const cpu = used(count)
      const after = await read(service)
      const entries = Object.entries(after).map(([name, value]) => [
        name,
        (value - before[name as keyof Used]) / count,
      ])
      return { ...(Object.fromEntries(entries) as Record<keyof Used, number>), cpu }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function readUsed(pool: Pool, service: BenchService): Promise<Used> {
  const { rows } = await pool.query<Pick<Used, 'statements' | 'walBytes' | 'databaseBytes'>>(
    `select ${OURS} (select sum(calls) from pg_stat_statements where query not like '%${OURS}%')::float8 as statements,
       (pg_current_wal_insert_lsn() - '0/0')::float8 as "walBytes",
       pg_database_size(current_database())::float8 as "databaseBytes"`,
  )
  return {
    ...rows[0]!,
    blobBytes: await sizeOf(path.join(service.folder.path, 'blobs')),
    memoryMb: readMemory(service.pid).nowMb,
  }
}

/** Bytes that the files of a folder take on the disk. */
async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = entries.filter(entry => entry.isFile())
  return files.reduce((sum, { parentPath, name }) => {
    const { blocks } = statSync(path.join(parentPath, name), { throwIfNoEntry: false }) ?? { blocks: 0 }
    return sum + blocks * BLOCK_BYTES
  }, 0)
}

/** The cost of one thing as a text for the table of results, which has a column for processor time. */
export function inWords(cost: Cost): string {
  return [
    `${short(cost.statements)} statements`,
    `${short(cost.walBytes / BYTES_PER_KB)} KB of WAL`,
    `${short(cost.databaseBytes / BYTES_PER_KB)} KB in the database`,
    ...(cost.blobBytes > 0 ? [`${short(cost.blobBytes / BYTES_PER_KB)} KB of blobs`] : []),
  ].join('; ')
}
