import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import { expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { PLAIN_EVENT } from '../../../../test/memory-calendars.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { expandSlowly } from '../../../kit/recurrence/series.ts'
import { doAtOnce } from '../../../kit/sliced-work.ts'
import { DAY_MS, printWall } from '../../../kit/wall-clock.ts'
import type { RemoteEvent } from '../../../providers/calendars.ts'
import { applyItem, NOTHING_KNOWN } from './item.ts'
import { shownOf } from './shown.ts'
import { expansionOf, spanSteps } from './spans.ts'
import { keptWindow } from './window.ts'

const DAYS = { past: 90, ahead: 365 }
const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS
const wall = (days: number, hours = 0) => printWall(TODAY + days * DAY_MS + hours * 3_600_000)
const iso = (days: number, hours = 0) => new Date(TODAY + days * DAY_MS + hours * 3_600_000).toISOString()

/** A series of 9 to 10 o'clock in UTC that ends at an instant, with the members that are taken from it. */
function seriesUntil(last: number, start: number, taken: readonly string[]) {
  const at = (hours: number) => ({ wall: printWall(start + hours * 3_600_000), zone: 'UTC' })
  const item = {
    type: 'item' as const,
    key: 'series',
    version: '1',
    uid: null,
    event: { ...PLAIN_EVENT, start: at(0), end: at(1) },
    recurrence: [`RRULE:FREQ=DAILY;UNTIL=${printWall(last)}Z`],
    members: { exceptions: [], taken: [...taken] },
    occurrences: null,
  }
  const show = (event: RemoteEvent) => ({ shown: shownOf(event, new Set()), body: null, updatedAt: null })
  return doAtOnce(applyItem(NOTHING_KNOWN, item, show))
}

test.each([-1_000, 0, 1_000, DAY_MS, DAY_MS + 1_000, 2 * DAY_MS - 1_000, 2 * DAY_MS, 2 * DAY_MS + 1_000])(
  'a series whose last member begins %d ms after the end of the window is expanded to its end as the window moves',
  after => {
    const begun = keptWindow(DAYS, TODAY)
    const last = begun.end.getTime() + after
    const start = last - 6 * DAY_MS
    // The last but one is taken, and so may be the last one.
    for (const isLastTaken of [false, true]) {
      const taken = [last - DAY_MS, ...(isLastTaken ? [last] : [])].map(printWall)
      const state = seriesUntil(last, start, taken)
      const [found, cancelled] = [new Set<string>(), new Set<string>()]
      // As the job does: until the series is known to end.
      for (let days = 0, isDue = true; isDue; days += 7) {
        const options = { window: keptWindow(DAYS, TODAY + days * DAY_MS), unzoned: 'UTC' }
        const expanded = expandSlowly(expansionOf(state, options)!)
        const { spans, cancelledStarts, endsAt } = doAtOnce(spanSteps('id', state, expanded, options))
        for (const { start_at } of spans) found.add(start_at)
        for (const each of cancelledStarts ?? []) cancelled.add(each)
        isDue = endsAt === null
      }
      const all = Array.from({ length: 7 }, (_, nth) => start + nth * DAY_MS)
      const isTaken = (instant: number) => taken.includes(printWall(instant))
      const print = (instants: number[]) => instants.map(instant => new Date(instant).toISOString())
      expect([...found]).toEqual(print(all.filter(instant => !isTaken(instant))))
      expect([...cancelled]).toEqual(print(all.filter(isTaken)))
    }
  },
)

test('a series that ends a day after the window is listed to its end once the window has moved', async () => {
  await using database = await openTestDatabase()
  await using door = await openCalendarDoor(database)
  const account = await door.openAccount('files')
  const [calendar = ''] = account.memory.calendars.keys()
  account.memory.add(
    calendar,
    { start: { wall: wall(0, 9), zone: 'UTC' }, end: { wall: wall(0, 10), zone: 'UTC' } },
    { recurrence: [`RRULE:FREQ=DAILY;UNTIL=${wall(397, 9)}Z`] },
  )
  await account.pass()
  door.setDaysLater(60)
  await door.roll()
  const { body } = await door.get<{ items: CalendarEvent[] }>(
    `${account.path}/calendar-events?start=${iso(394)}&end=${iso(400)}`,
  )
  expect(body.items.map(({ start }) => start.dateTime)).toEqual([394, 395, 396, 397].map(day => iso(day, 9)))
})
