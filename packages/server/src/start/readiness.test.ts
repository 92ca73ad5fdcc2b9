import { describe, expect, test } from 'vitest'
import { openTestApp } from '../../test/open-app.ts'
import { openTestDatabase } from '../../test/open-database.ts'
import { openLog, silentLog } from '../kit/log.ts'
import { openMetrics } from '../kit/metrics.ts'
import { createReadiness } from './readiness.ts'

/** A machine that does much else may be slow. */
const PATIENCE_SECONDS = 60

const unheard = () => ({ metrics: openMetrics(), log: silentLog })

describe('createReadiness', () => {
  test('has a problem from the moment that the service stops', async () => {
    await using database = await openTestDatabase()
    const readiness = createReadiness(database, unheard(), PATIENCE_SECONDS)
    expect(await readiness.findProblems()).toEqual([])
    const noticed = readiness.turnOff(0)
    expect(await readiness.findProblems()).toEqual(['it is stopping'])
    expect(readiness.isStopping).toBe(true)
    await noticed
  })

  test('has a problem while the database does not answer', async () => {
    const database = await openTestDatabase()
    const readiness = createReadiness(database, unheard(), PATIENCE_SECONDS)
    await database[Symbol.asyncDispose]()
    expect(await readiness.findProblems()).toEqual(['the database does not answer'])
  })

  test('has the problems of the parts that it asks, as long as they last', async () => {
    await using database = await openTestDatabase()
    const readiness = createReadiness(database, unheard(), PATIENCE_SECONDS)
    let problem: string | null = 'it has no lease'
    readiness.include(() => problem)
    readiness.include(() => null)
    expect(await readiness.findProblems()).toEqual(['it has no lease'])
    problem = null
    expect(await readiness.findProblems()).toEqual([])
  })
  test('logs each change of its problems, and has a metric for whether there are any', async () => {
    await using database = await openTestDatabase()
    const metrics = openMetrics()
    const lines: string[] = []
    const destination = { write: (line: string) => void lines.push(line) }
    const log = openLog({ level: 'info', format: 'json', destination })
    const readiness = createReadiness(database, { metrics, log }, PATIENCE_SECONDS)
    const readMetric = async () => (await metrics.getSingleMetricAsString('waxwing_ready')).split('\n').at(-1)
    let problem: string | null = null
    readiness.include(() => problem)

    expect(await readMetric()).toBe('waxwing_ready 1')
    expect(lines).toEqual([])
    problem = 'it has no lease'
    expect(await readMetric()).toBe('waxwing_ready 0')
    await readiness.findProblems()
    problem = null
    expect(await readMetric()).toBe('waxwing_ready 1')
    expect(lines.map(line => JSON.parse(line))).toMatchObject([
      { level: 'warn', message: 'Not ready', reason: 'it has no lease' },
      { level: 'info', message: 'Ready again' },
    ])
  })
})

test('a service is ready once the first key of its installation can be read', async () => {
  const statuses: number[] = []
  await using app = await openTestApp({
    onRunning: async (_, baseUrl) => void statuses.push((await fetch(`${baseUrl}/health/ready`)).status),
  })
  statuses.push((await app.get('/health/ready')).status)
  expect(statuses).toEqual([503, 200])
})
