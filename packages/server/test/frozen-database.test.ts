import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestApp } from './open-app.ts'
import { openTestDatabase } from './open-database.ts'
import { waitUntil } from './wait-until.ts'

test('a request gets 503 with Retry-After while the database is frozen, and is served afterwards', async () => {
  await using database = await openTestDatabase({ answerSeconds: 5 })
  await using app = await openTestApp({ database })
  expect((await app.get('/v1/accounts')).status).toBe(200)
  const { rows } = await sql<{ pid: number }>`
    select pid from pg_stat_activity where datname = current_database()`.execute(database.db)
  for (const { pid } of rows) process.kill(pid, 'SIGSTOP')
  try {
    expect(await app.get('/v1/accounts')).toMatchObject({ status: 503, body: { code: 'overloaded' } })
  } finally {
    for (const { pid } of rows) process.kill(pid, 'SIGCONT')
  }
  await waitUntil('a request to be served', async () => (await app.get('/v1/accounts')).status === 200)
})
