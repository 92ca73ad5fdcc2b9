import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { timesAt, TODAY } from '../../../../test/calendars/calendar-history.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { DAY_MS, printWall } from '../../../kit/wall-clock.ts'

const opened = new AsyncDisposableStack()
let door: Awaited<ReturnType<typeof openCalendarDoor>>
beforeAll(async () => {
  door = opened.use(await openCalendarDoor(opened.use(await openTestDatabase())))
})
afterAll(() => opened.disposeAsync())

/** Days before today on which the series began, which is before the window of the index. */
const BEGUN = 200

/** A daily series of which no member up to today is left but those of these days ago, and its occurrences from tomorrow on. */
async function openSeries(left: readonly number[]) {
  const account = await door.openAccount('files')
  const { memory, path } = account
  const [calendar = ''] = memory.calendars.keys()
  const start = TODAY - BEGUN * DAY_MS
  const recurrence = [`RRULE:FREQ=DAILY;COUNT=${BEGUN + 4}`]
  const { key } = memory.add(calendar, { ...timesAt(start), subject: 'Daily' }, { recurrence })
  for (let ago = 0; ago <= BEGUN; ago++)
    if (!left.includes(ago)) memory.setMember(key, printWall(TODAY - ago * DAY_MS), null)
  await account.pass()
  const range = `start=${new Date(TODAY).toISOString()}&end=${new Date(TODAY + 9 * DAY_MS).toISOString()}`
  const events = `${path}/calendar-events`
  const { items } = (await door.get<{ items: CalendarEvent[] }>(`${events}?${range}`)).body
  return { memory, events, items }
}

test('the first occurrence that is left and those that follow are the whole series, however long ago that began', async () => {
  const { memory, events, items } = await openSeries([])
  const [first] = items
  const changed = await door.patch(`${events}/${first!.id}?scope=following`, { subject: 'New' })
  expect(changed).toMatchObject({
    status: 200,
    body: { id: first!.seriesId, kind: 'series', subject: 'New' },
  })
  expect(memory.items.size).toBe(1)
  expect((await door.delete(`${events}/${first!.id}?scope=following`)).status).toBe(200)
  expect(memory.items.size).toBe(0)
})

// Of these, the index holds the second one only.
test.each([150, 20])('a series with an occurrence left %d days ago is split', async ago => {
  const { memory, events, items } = await openSeries([ago])
  const [first] = items
  const changed = await door.patch<CalendarEvent>(`${events}/${first!.id}?scope=following`, {
    subject: 'New',
  })
  expect(changed).toMatchObject({ status: 200, body: { kind: 'series', subject: 'New' } })
  expect(changed.body.id).not.toBe(first!.seriesId)
  expect(memory.items.size).toBe(2)
})
