import { afterAll, beforeAll } from 'vitest'
import type { Database } from '../src/database/pool.ts'
import { openTestDatabase } from './open-database.ts'
import { type DoorOptions, openTestDoor } from './open-door.ts'

export type TestDoor = Awaited<ReturnType<typeof openTestDoor>>

/** Opens front doors on one database for all tests of a file. Each door has a tenant and a port of its own. */
export function useTestDoors() {
  let database: Database | undefined
  beforeAll(async () => {
    database = await openTestDatabase()
  })
  afterAll(async () => database?.[Symbol.asyncDispose]())
  return {
    openDoor(options?: DoorOptions) {
      if (!database) throw new Error('the database is there only while tests run')
      return openTestDoor({ database, ...options })
    },
  }
}
