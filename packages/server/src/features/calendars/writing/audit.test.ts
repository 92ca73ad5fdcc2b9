import type { CalendarEventWithBody } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'

const hour = {
  start: { dateTime: new Date(Date.now() + DAY_MS).toISOString() },
  end: { dateTime: new Date(Date.now() + 2 * DAY_MS).toISOString() },
}

test('each write of calendars and events leaves one row in the audit log', async () => {
  await using database = await openTestDatabase()
  await using door = await openCalendarDoor(database)
  const account = await door.openAccount('files')
  const { memory, path } = account
  const { email } = await door.db
    .selectFrom('account')
    .select('email')
    .where('id', '=', account.id)
    .executeTakeFirstOrThrow()
  const attendees = [{ name: null, address: email, type: 'required', response: 'none' } as const]
  const organizer = { name: null, address: 'boss@example.com' }
  memory.add([...memory.calendars.keys()][0]!, { organizer, attendees, subject: 'Asked' })
  await account.pass()
  const { rows: invited } = await sql<{ id: string }>`select id from calendar_event`.execute(door.db)
  const asked = invited[0]!.id

  const { body: calendar } = await door.post<Calendar>(`${path}/calendars`, { name: 'Team' })
  await door.patch(`${path}/calendars/${calendar.id}`, { name: 'Crew' })
  const body = { calendarId: calendar.id, subject: 'Ours', ...hour }
  const { body: event } = await door.post<CalendarEventWithBody>(`${path}/calendar-events`, body)
  await door.patch(`${path}/calendar-events/${event.id}`, { subject: 'All' })
  await door.delete(`${path}/calendar-events/${event.id}`)
  await door.post(`${path}/calendar-events/${asked}/respond`, { response: 'accepted' })
  await door.delete(`${path}/calendars/${calendar.id}`)

  const { rows } = await sql<{ action: string; status: number; targets: Record<string, string> }>`
    select action, status, targets from audit_open order by id
  `.execute(door.db)
  const ofCalendar = { accountId: account.id, calendarId: calendar.id }
  const ofEvent = { accountId: account.id, eventId: event.id }
  expect(rows.map(({ action, status, targets }) => [action, status, targets])).toEqual([
    ['calendar.create', 200, ofCalendar],
    ['calendar.update', 200, ofCalendar],
    ['calendar_event.create', 200, ofEvent],
    ['calendar_event.update', 200, ofEvent],
    ['calendar_event.delete', 200, ofEvent],
    ['calendar_event.respond', 200, { accountId: account.id, eventId: asked }],
    ['calendar.delete', 200, ofCalendar],
  ])
})
