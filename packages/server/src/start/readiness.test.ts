import { describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { createReadiness } from './readiness.ts'

describe('createReadiness', () => {
  test('says no from the moment that the service stops', async () => {
    await using database = await openTestDatabase()
    const readiness = createReadiness(database)
    expect(await readiness.isReady()).toBe(true)
    const noticed = readiness.turnOff(0)
    expect(await readiness.isReady()).toBe(false)
    await noticed
  })

  test('says no while the database does not answer', async () => {
    const database = await openTestDatabase()
    const readiness = createReadiness(database)
    await database[Symbol.asyncDispose]()
    expect(await readiness.isReady()).toBe(false)
  })
})
