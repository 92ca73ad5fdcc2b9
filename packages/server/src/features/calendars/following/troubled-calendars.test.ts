import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openCalendarDoor, readCalendarFeed } from '../../../../test/calendar-door.ts'
import { PLAIN_EVENT } from '../../../../test/memory-calendars.ts'
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

test('a primary calendar that is not listed for one look is the primary one, and its zone counts', async () => {
  await using database = await openTestDatabase()
  await using door = await openCalendarDoor(database)
  const account = await door.openAccount('files')
  const { memory } = account
  const [first = ''] = memory.calendars.keys()
  memory.updateCalendar(first, { timeZone: 'Asia/Tokyo', isPrimary: null })
  const second = memory.createCalendar('second', { isPrimary: null })
  const day = PLAIN_EVENT.start.wall.slice(0, 8)
  const floating = {
    start: { wall: `${day}T090000`, zone: null },
    end: { wall: `${day}T100000`, zone: null },
  }
  await account.pass()
  const remote = memory.calendars.get(first)!
  memory.calendars.delete(first)
  memory.add(second, floating)
  await account.pass()
  const { body } = await door.get<{ items: Calendar[] }>(`${account.path}/calendars`)
  expect(body.items.map(({ name, isPrimary }) => `${name} ${isPrimary}`).toSorted()).toEqual([
    'first true',
    'second false',
  ])
  memory.calendars.set(first, remote)
  await account.pass()
  const { rows } = await sql<{ start: string }>`
    select to_char(start_at at time zone 'UTC', 'YYYYMMDD"T"HH24MISS') as start from calendar_event
  `.execute(door.db)
  expect(rows).toEqual([{ start: `${day}T000000` }])
  const feed = (await readCalendarFeed(door.db, account.id)).map(({ type }) => type)
  expect(feed).toEqual(['calendar.initialized', 'calendar_event.created'])
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
