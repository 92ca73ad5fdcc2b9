import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import { expect, test } from 'vitest'
import { openCalendarDoor, readCalendarFeed } from '../../../../test/calendar-door.ts'
import { timesAt, TODAY } from '../../../../test/calendars/calendar-history.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'

test.each(['files', 'members'] as const)(
  'a step that was read before a write does not undo it in calendars told as %s',
  async kind => {
    await using database = await openTestDatabase()
    await using door = await openCalendarDoor(database)
    const account = await door.openAccount(kind)
    const { memory, path } = account
    const [calendar = ''] = memory.calendars.keys()
    const times = timesAt(TODAY + DAY_MS)
    const { key } = memory.add(calendar, { ...times, subject: 'First' })
    await account.pass()
    const range = `start=${new Date(TODAY).toISOString()}&end=${new Date(TODAY + 3 * DAY_MS).toISOString()}`
    const list = async () =>
      (await door.get<{ items: CalendarEvent[] }>(`${path}/calendar-events?${range}`)).body.items
    const [event] = await list()
    memory.update(key, { subject: 'Of another client' })
    memory.onAwait = async call => {
      if (call !== 'page') return
      memory.onAwait = () => undefined
      await door.patch(`${path}/calendar-events/${event!.id}`, { subject: 'Ours' })
    }
    await account.pass()
    expect((await list()).map(({ subject }) => subject)).toEqual(['Ours'])
    await account.pass()
    expect((await list()).map(({ subject }) => subject)).toEqual(['Ours'])
    const feed = await readCalendarFeed(door.db, account.id)
    expect(feed.map(({ type, data }) => `${type} ${data.event?.subject ?? ''}`)).toEqual([
      'calendar.initialized ',
      'calendar_event.updated Ours',
    ])
    expect(await door.db.selectFrom('calendar_mark').selectAll().execute()).toEqual([])
  },
)
