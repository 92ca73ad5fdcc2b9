import { randomBytes } from 'node:crypto'
import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { newestOf, readMigrations } from '../../src/database/migration-file.ts'
import type { Db } from '../../src/database/pool.ts'
import { makeExternalDatabase } from '../external-database.ts'
import { sampleAccount } from '../sample-rows.ts'
import {
  type DataFolder,
  makeDataFolder,
  type ServiceProcess,
  startServiceProcess,
  startWaxwing,
} from '../service-process.ts'
import { waitUntil } from '../wait-until.ts'
import { plantMigrations } from './planted-migration.ts'
import { startTraffic } from './traffic.ts'

const NEXT = fileURLToPath(new URL('./next-release.ts', import.meta.url))

/** The folder of a checkout of an earlier release, or that of this one. */
const CHECKOUT = process.env['WAXWING_PREVIOUS_RELEASE']
const PREVIOUS = CHECKOUT ?? fileURLToPath(new URL('../../../..', import.meta.url))
const MIGRATIONS = pathToFileURL(path.join(PREVIOUS, 'packages/server/src/database/migrations/'))

/** Starts processes of either release on one database. */
function openReleases(folder: DataFolder, env: Record<string, string>) {
  const program = path.join(PREVIOUS, 'packages/server/bin/waxwing.js')
  const planted = path.join(folder.path, 'planted')
  const next = { program: NEXT, env: { ...env, WAXWING_TEST_MIGRATIONS: planted } }
  return {
    async plant(db: Db) {
      await mkdir(planted)
      await plantMigrations(db, newestOf(await readMigrations(MIGRATIONS)), planted)
    },
    startPrevious: () => startServiceProcess(folder, { program, env }),
    startNext: () => startServiceProcess(folder, next),
    /** Starts the next release, without waiting until it serves. */
    launchNext: () => startWaxwing([], { ...next, env: { ...next.env, WAXWING_DATA_DIR: folder.path } }),
  }
}

async function end(process: ServiceProcess) {
  process.kill('SIGTERM')
  expect((await process.ended).code).toBe(0)
}

test('processes are exchanged for the next release and back, and no request or event is lost', async () => {
  await using opened = new AsyncDisposableStack()
  const external = opened.use(await makeExternalDatabase())
  const folder = opened.use(await makeDataFolder())
  const { db } = external.database
  const releases = openReleases(folder, {
    DATABASE_URL: external.url,
    WAXWING_SECRET_KEY: randomBytes(32).toString('base64'),
    WAXWING_ROLES: 'api,jobs',
    WAXWING_NOTICE_SECONDS: '6',
  })
  const first = opened.use(await releases.startPrevious())
  const { id: tenantId } = await db.selectFrom('tenant').select('id').executeTakeFirstOrThrow()
  const { id: accountId } = await sampleAccount(db, tenantId)
  await releases.plant(db)
  const traffic = opened.use(startTraffic({ key: first.key ?? '', accountId }))
  traffic.add(first.address)
  await traffic.goesOn()

  // A transaction that began before holds up the index, and the process is killed while it waits.
  await db.transaction().execute(async tx => {
    await sql`set transaction isolation level repeatable read`.execute(tx)
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx)
    await sql`select from pg_class limit 1`.execute(tx)
    await using killed = releases.launchNext()
    await waitUntil('the index to be half made', async () => {
      const { rows } = await sql`
        select from pg_index where indexrelid = to_regclass('planted_message') and not indisvalid
      `.execute(db)
      return rows.length > 0
    })
    killed.kill('SIGKILL')
    await killed.ended
    await waitUntil('the server to end what the process had begun', async () => {
      const { rows } = await sql`
        select from pg_stat_activity
        where application_name = 'waxwing migrate' and datname = current_database()
      `.execute(db)
      return rows.length === 0
    })
  })
  await traffic.goesOn()

  const second = opened.use(await releases.startNext())
  traffic.add(second.address)
  await traffic.goesOn()
  // The last one starts meanwhile, and gets its requests afterwards.
  const [third] = await Promise.all([
    releases.startPrevious().then(started => opened.use(started)),
    traffic.remove(first.address, () => end(first)),
  ])
  await traffic.goesOn()
  const { rows } = await sql`
    select from pg_index where indexrelid in ('planted_message'::regclass, 'planted_event'::regclass) and indisvalid
  `.execute(db)
  expect(rows).toHaveLength(2)

  traffic.add(third.address)
  await traffic.goesOn()
  await traffic.remove(second.address, () => end(second))
  await traffic.goesOn()

  const { failures, tokens, announced, heard } = await traffic.stop()
  expect(failures).toEqual([])
  expect(heard).toEqual(announced)
  const { rows: counted } = await sql<{ tokens: number }>`
    select count(*)::int as tokens from account_token where account_id = ${accountId}
  `.execute(db)
  expect(counted[0]?.tokens).toBe(tokens)
  for (const { output } of [first, second, third]) expect(output()).not.toContain('"level":"error"')
}, 300_000)
