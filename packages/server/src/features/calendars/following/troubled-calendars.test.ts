import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import type { CalendarsProvider } from '../../../providers/calendars.ts'
import { ProviderFailure } from '../../../providers/failure.ts'

test('the end of a page of changes without deletions is stored, so that the next pass goes on from it', async () => {
  await using database = await openTestDatabase()
  await using door = await openCalendarDoor(database)
  const account = await door.openAccount('files')
  const { memory } = account
  await account.pass()
  const [first = ''] = memory.calendars.keys()
  memory.add(first, { subject: 'news' })
  const connect = memory.connect.bind(memory)
  memory.connect = (): CalendarsProvider => {
    async function* follow(): ReturnType<CalendarsProvider['follow']> {
      yield { type: 'gone', keys: [], cursor: { page: 1 } }
      yield { type: 'gone', keys: ['/gone.ics'], cursor: { page: 2 } }
      yield await Promise.reject(new ProviderFailure('throttled', 'The server is busy.'))
    }
    return { ...connect(), follow }
  }
  await expect(account.pass()).rejects.toThrow('The server is busy.')
  const { rows } = await sql<{ cursor: unknown }>`select cursor from calendar`.execute(door.db)
  // A deletion is recorded at the end only, and the cursor stays before it.
  expect(rows).toEqual([{ cursor: { page: 1 } }])
})
