import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../../test/open-database.ts'
import { sampleAccount, sampleTenant } from '../../../test/sample-rows.ts'
import { newId } from '../../kit/ids.ts'
import { checkCalendars } from './check-calendars.ts'

test('doctor reports writes that nobody finishes, and notifications that have ended', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const { id: tenantId } = await sampleTenant(db)
  const { id } = await sampleAccount(db, tenantId)
  const { id: paused } = await sampleAccount(db, tenantId, { status: 'paused' })
  const leave = (accountId: string, hours: number) =>
    sql`
      insert into calendar_intent (id, account_id, intent, created_at, leased_until)
      values (${newId()}, ${accountId}, '{}', now() - make_interval(hours => ${hours}), now() - interval '1 second')
    `.execute(db)
  await leave(id, 0)
  await leave(paused, 5)
  expect(await checkCalendars(database)).toMatchObject([{ check: 'calendars', state: 'ok' }])
  await leave(id, 3)
  await sql`
    insert into calendar_channel
      (id, account_id, calendar_key, resource_id, token_digest, address, expires_at, renew_at)
    values (${newId()}, ${id}, 'a', 'r', '', 'https://a.example', now() - interval '1 hour', now() - interval '2 days'),
      (${newId()}, ${id}, 'b', 'r', '', 'https://a.example', now() + interval '1 hour', now())
  `.execute(db)
  expect(await checkCalendars(database)).toMatchObject([
    { state: 'warning', message: expect.stringContaining('not finished since: 2, the oldest 3 h ago') },
    { state: 'warning', message: expect.stringContaining('no longer notifies: 1.') },
  ])
  await database.pool.query('delete from schema_migration where version > 1')
  expect(await checkCalendars(database)).toEqual([])
})
