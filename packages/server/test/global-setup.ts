import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Client } from 'pg'
import type { TestProject } from 'vitest/node'
import { isOutdated, SITE } from '../../../scripts/docs/freshness.ts'
import { writeSite } from '../../../scripts/docs/write-site.ts'
import { postgresOf } from '../../../scripts/durations.ts'
import { migrate } from '../src/database/migrate.ts'
import { clientSettings } from '../src/database/pool.ts'
import { makeBundle } from './bundle.ts'
import { fillCompileCache } from './compile-cache.ts'
import { guardFolder, startGuard } from './guard/guard.ts'
import { startPostgresServer } from './postgres-server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: { version: '18' | '16'; socketFolder: string; password: string; template: string }
    /** A folder for what is made once in a test run (`prepared-folder.ts`). */
    prepared: { folder: string }
  }
}

const TEMPLATE = 'template_waxwing'

/** Starts the PostgreSQL of a test project, with a migrated database from which each test's own is copied. */
export default async function setup(project: TestProject) {
  await makeBundle()
  if (isOutdated()) await writeSite(SITE)
  fillCompileCache()
  await using opened = new AsyncDisposableStack()
  opened.use(startGuard())
  const prepared = await mkdtemp(path.join(tmpdir(), 'waxwing-prepared-'))
  opened.defer(guardFolder(prepared))
  opened.defer(() => rm(prepared, { recursive: true, force: true }))
  // Its database runs as another user.
  await chmod(prepared, 0o711)
  project.provide('prepared', { folder: prepared })

  const version = postgresOf(project.config.env)
  const server = opened.use(await startPostgresServer(version === '16' ? version : undefined))
  const client = new Client(clientSettings(server.address('postgres'), 'waxwing test'))
  await client.connect()
  await client.query(`create database ${TEMPLATE}`)
  await client.end()
  await migrate(server.address(TEMPLATE))
  const { socketFolder, password } = server
  project.provide('postgres', { version, socketFolder, password, template: TEMPLATE })
  const running = opened.move()
  return () => running.disposeAsync()
}
