import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import type { CalendarsProvider } from '../../../providers/calendars.ts'
import { ProviderFailure } from '../../../providers/failure.ts'

test('an event with the UID of one in a calendar that may not be read is a copy', async () => {
  await using database = await openTestDatabase()
  await using door = await openCalendarDoor(database)
  const account = await door.openAccount('files')
  const { memory } = account
  const [first = ''] = memory.calendars.keys()
  const second = memory.createCalendar('second')
  const { uid } = memory.add(first, { subject: 'original' })
  await account.pass()
  const connect = memory.connect.bind(memory)
  memory.connect = (): CalendarsProvider => {
    const provider = connect()
    const read: CalendarsProvider['read'] = (asked, signal) => {
      if (asked.calendarKey === first) throw new ProviderFailure('forbidden', 'The share was revoked.')
      return provider.read(asked, signal)
    }
    return { ...provider, read }
  }
  memory.add(second, { subject: 'copy' }, { uid })
  await account.pass()
  const { rows } = await sql<{ subject: string }>`
    select shown ->> 'subject' as subject from calendar_event order by id
  `.execute(door.db)
  expect(rows.map(({ subject }) => subject)).toEqual(['original', 'copy'])
})

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
