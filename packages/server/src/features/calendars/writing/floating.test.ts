import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import { expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { DAY_MS, printWall } from '../../../kit/wall-clock.ts'

test('an event without a zone keeps that with a new end', async () => {
  await using database = await openTestDatabase()
  await using door = await openCalendarDoor(database)
  const { memory, path, pass } = await door.openAccount('files')
  const [calendar = ''] = memory.calendars.keys()
  memory.calendars.get(calendar)!.timeZone = 'America/New_York'
  const start = Math.floor(Date.now() / DAY_MS) * DAY_MS + 20 * DAY_MS + 9 * 3_600_000
  const floating = (minutes: number) => ({ wall: printWall(start + minutes * 60_000), zone: null })
  memory.add(calendar, { start: floating(0), end: floating(30), subject: 'Floating' })
  await pass()
  const range = [-1, 2].map(days => new Date(start + days * DAY_MS).toISOString())
  const events = `${path}/calendar-events`
  const { body } = await door.get<{ items: CalendarEvent[] }>(`${events}?start=${range[0]}&end=${range[1]}`)
  const [event] = body.items
  expect(event!.start.timeZone).toBeNull()

  const end = new Date(Date.parse(event!.start.dateTime!) + 90 * 60_000).toISOString()
  const changed = await door.patch<CalendarEvent>(`${events}/${event!.id}`, { end: { dateTime: end } })

  expect(changed).toMatchObject({ status: 200, body: { start: event!.start, end: { timeZone: null } } })
  expect(Date.parse(changed.body.end.dateTime!)).toBe(Date.parse(end))
  const [item] = [...memory.items.values()]
  expect(item).toMatchObject({ event: { start: floating(0), end: floating(90) } })
})
