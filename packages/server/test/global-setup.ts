import { Client } from 'pg'
import type { TestProject } from 'vitest/node'
import { migrate } from '../src/database/migrate.ts'
import { clientSettings } from '../src/database/pool.ts'
import { startPostgresServer } from './postgres-server.ts'

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: { socketFolder: string; password: string; template: string }
  }
}

const TEMPLATE = 'template_waxwing'

/** Starts the PostgreSQL of the test run, with a migrated database from which each test's own is copied. */
export default async function setup(project: TestProject) {
  const server = await startPostgresServer(process.env['WAXWING_TEST_PG'] === '16' ? '16' : undefined)
  try {
    const client = new Client(clientSettings(server.address('postgres'), 'waxwing test'))
    await client.connect()
    await client.query(`create database ${TEMPLATE}`)
    await client.end()
    await migrate(server.address(TEMPLATE))
  } catch (error) {
    await server[Symbol.asyncDispose]()
    throw error
  }
  const { socketFolder, password } = server
  project.provide('postgres', { socketFolder, password, template: TEMPLATE })
  return () => server[Symbol.asyncDispose]()
}
