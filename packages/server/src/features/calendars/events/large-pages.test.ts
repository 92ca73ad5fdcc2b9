import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import { expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { PLAIN_EVENT } from '../../../../test/memory-calendars.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import type { RemoteAttendee } from '../../../providers/calendars.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'

type Page = { items: CalendarEvent[]; nextCursor: string | null }

const BYTES_MAX = 5 * 1024 * 1024

test('a page of large events ends early, and the next pages have the rest', async () => {
  await using database = await openTestDatabase()
  await using door = await openCalendarDoor(database)
  const account = await door.openAccount('files')
  const { memory } = account
  const [calendar = ''] = memory.calendars.keys()
  const attendees = Array.from({ length: 500 }, (_, nth): RemoteAttendee => ({
    name: 'N'.repeat(1_000),
    address: `a${nth}@example.com`,
    type: 'required',
    response: 'none',
  }))
  memory.add(calendar, { subject: 'large', attendees }, { recurrence: ['RRULE:FREQ=DAILY;COUNT=15'] })
  memory.add(calendar, { ...PLAIN_EVENT, subject: 'small' }, { recurrence: ['RRULE:FREQ=DAILY;COUNT=15'] })
  await account.pass()

  const today = Date.now()
  const range = `start=${new Date(today).toISOString()}&end=${new Date(today + 20 * DAY_MS).toISOString()}&limit=500`
  const pages: CalendarEvent[][] = []
  for (let cursor = ''; ;) {
    const { status, body } = await door.get<Page>(`${account.path}/calendar-events?${range}${cursor}`)
    expect(status).toBe(200)
    expect(JSON.stringify(body).length).toBeLessThan(BYTES_MAX)
    pages.push(body.items)
    if (body.nextCursor === null) break
    cursor = `&cursor=${encodeURIComponent(body.nextCursor)}`
  }
  const items = pages.flat()
  expect(pages.length).toBeGreaterThan(1)
  expect(new Set(items.map(({ id }) => id)).size).toBe(30)
  expect(items.map(({ start }) => start.dateTime)).toEqual(
    items.map(({ start }) => start.dateTime).toSorted(),
  )
  for (const item of items) expect(item.attendees).toHaveLength(item.subject === 'large' ? 500 : 0)
})
