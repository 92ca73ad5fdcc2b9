import { expect, test } from 'vitest'
import { insertImapAccounts } from './insert-accounts.ts'
import { openLosingDatabase } from './losing-database.ts'
import { findFreePort } from './metrics.ts'
import { openTestApp } from './open-app.ts'
import { openTestDatabase } from './open-database.ts'
import { waitUntil } from './wait-until.ts'

interface Line {
  level: string
  message: string
  count?: number
  names?: string[]
  error?: { name: string }
}

const BEGIN = 'The database cannot be reached. What fails because of it is counted, and reported every minute'
const AGAIN = 'The database can be reached again'

const isTrouble = ({ level }: Line) => level === 'warn' || level === 'error'
const wasAway = ({ error }: Line) => error?.name === 'DatabaseUnavailable'

test('an outage of the database is one warning at its begin and one at its end, whatever fails in it', async () => {
  await using real = await openTestDatabase()
  await using database = await openLosingDatabase(real)
  await using app = await openTestApp({
    database: database.database,
    roles: ['api', 'sync', 'jobs'],
    egressAllow: ['127.0.0.1/32'],
    allowPlaintext: true,
    pace: { pollSeconds: 0.2 },
  })
  await insertImapAccounts(app, { count: 20, domain: 'x.test', port: await findFreePort() })
  const { body } = await app.post<{ url: string }>('/v1/connect-sessions', {})
  const page = app.address + new URL(body.url).pathname
  const lines = () => app.logLines.map(line => JSON.parse(line) as Line)
  const requests = 10
  for (let outage = 1; outage <= 2; outage += 1) {
    database.goAway()
    for (let asked = 0; asked < requests; asked += 1) {
      expect((await app.get('/v1/accounts')).status).toBe(503)
      expect((await fetch(page)).status).toBe(503)
    }
    database.comeBack()
    await waitUntil(
      'the end',
      async () => lines().filter(({ message }) => message === AGAIN).length === outage,
    )
  }
  const about = lines().filter(line => isTrouble(line) && (wasAway(line) || line.message === AGAIN))
  expect(about.map(({ message }) => message)).toEqual([BEGIN, AGAIN, BEGIN, AGAIN])
  for (const { count, names } of about.filter(({ message }) => message === AGAIN)) {
    expect(count).toBeGreaterThanOrEqual(2 * requests)
    expect(names).toContain(`${requests} × A request was refused: the database cannot be reached`)
    expect(names).toContain(`${requests} × A page was not shown. The database cannot be reached`)
  }
})
