import { expect, test } from 'vitest'
import { migrate } from '../src/database/migrate.ts'
import { openDatabase } from '../src/database/pool.ts'
import { openTestApp } from './open-app.ts'
import { startPostgresServer } from './postgres-server.ts'
import { waitUntil } from './wait-until.ts'

test('a request gets 503 with Retry-After while the database is frozen, and is served afterwards', async () => {
  await using server = await startPostgresServer()
  const address = server.address('postgres')
  await migrate(address)
  await using database = openDatabase({ address, applicationName: 'waxwing test', answerSeconds: 5 })
  await using app = await openTestApp({ database })
  expect((await app.get('/v1/accounts')).status).toBe(200)
  await server.freeze()
  try {
    const { status, body, headers } = await app.get('/v1/accounts')
    expect({ status, body }).toMatchObject({ status: 503, body: { code: 'overloaded' } })
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
  } finally {
    await server.thaw()
  }
  await waitUntil('a request to be served', async () => (await app.get('/v1/accounts')).status === 200)
})
