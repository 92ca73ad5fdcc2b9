import { describe, expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { createReadiness } from './readiness.ts'

describe('createReadiness', () => {
  test('has a problem from the moment that the service stops', async () => {
    await using database = await openTestDatabase()
    const readiness = createReadiness(database)
    expect(await readiness.findProblems()).toEqual([])
    const noticed = readiness.turnOff(0)
    expect(await readiness.findProblems()).toEqual(['it is stopping'])
    await noticed
  })

  test('has a problem while the database does not answer', async () => {
    const database = await openTestDatabase()
    const readiness = createReadiness(database)
    await database[Symbol.asyncDispose]()
    expect(await readiness.findProblems()).toEqual(['the database does not answer'])
  })

  test('has the problems of the parts that it asks, as long as they last', async () => {
    await using database = await openTestDatabase()
    const readiness = createReadiness(database)
    let problem: string | null = 'it has no lease'
    readiness.include(() => problem)
    readiness.include(() => null)
    expect(await readiness.findProblems()).toEqual(['it has no lease'])
    problem = null
    expect(await readiness.findProblems()).toEqual([])
  })
})
