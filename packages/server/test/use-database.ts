import { afterAll, beforeAll } from 'vitest'
import type { Database } from '../src/database/pool.ts'
import { openTestDatabase } from './open-database.ts'

/** Opens one database for all tests of a file or a `describe`. Each test has a tenant of its own. */
export function useTestDatabase(): () => Database {
  let database: Database | undefined
  beforeAll(async () => {
    database = await openTestDatabase()
  })
  afterAll(async () => database?.[Symbol.asyncDispose]())
  return () => {
    if (!database) throw new Error('the database is there only while tests run')
    return database
  }
}
