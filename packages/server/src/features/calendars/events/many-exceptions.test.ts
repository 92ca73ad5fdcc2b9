import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { PLAIN_EVENT } from '../../../../test/memory-calendars.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { expandSlowly } from '../../../kit/recurrence/series.ts'
import type { Steps } from '../../../kit/sliced-work.ts'
import { DAY_MS, printWall } from '../../../kit/wall-clock.ts'
import { applyItem, NOTHING_KNOWN, STEP_MEMBERS, withinWindow } from './item.ts'
import { showSteps } from './record.ts'
import { expansionOf, spanSteps } from './spans.ts'
import { keptWindow } from './window.ts'
import { sameItemSteps } from './write-items.ts'

const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS
const at = (hours: number) => ({ wall: printWall(TODAY + hours * 3_600_000), zone: 'UTC' })
const eventAt = (hours: number) => ({ ...PLAIN_EVENT, start: at(hours), end: at(hours + 1) })

/** An hourly series with this many members, each of which is an exception, or was taken. */
const series = (count: number, kind: 'exceptions' | 'taken') => {
  const nths = Array.from({ length: count }, (_, nth) => nth)
  return {
    type: 'item' as const,
    key: 'series',
    version: '1',
    uid: null,
    event: eventAt(0),
    recurrence: [`RRULE:FREQ=HOURLY;COUNT=${count}`],
    members: {
      exceptions:
        kind === 'exceptions'
          ? nths.map(nth => ({ member: at(nth).wall, key: null, event: eventAt(nth) }))
          : [],
      taken: kind === 'taken' ? nths.map(nth => at(nth).wall) : [],
    },
    occurrences: null,
  }
}

function stepsOf<T>(steps: Steps<T>): { count: number; value: T } {
  let step = steps.next()
  let count = 0
  for (; !step.done; step = steps.next()) count++
  return { count, value: step.value }
}

test.each(['exceptions', 'taken'] as const)(
  'the work for a series of 2,000 %s is done in small steps',
  kind => {
    const item = series(2_000, kind)
    const { count, value: shown } = stepsOf(showSteps([item], new Set()))
    expect(count).toBe(kind === 'exceptions' ? 2_001 : 1)
    const apply = () => stepsOf(applyItem(NOTHING_KNOWN, item, event => shown.get(event)!))
    const [{ count: appliedCount, value: state }, { value: same }] = [apply(), apply()]
    if (kind === 'exceptions') expect(appliedCount).toBeGreaterThanOrEqual(2_000 / STEP_MEMBERS)
    const { count: keptCount } = stepsOf(withinWindow(state, keptWindow({ past: 90, ahead: 365 }, TODAY)))
    expect(keptCount).toBeGreaterThanOrEqual(2_000 / STEP_MEMBERS)
    const compared = stepsOf(sameItemSteps(state, same))
    expect(compared.value).toBe(true)
    if (kind === 'exceptions') expect(compared.count).toBeGreaterThan(2_000 / STEP_MEMBERS)
    const options = { window: keptWindow({ past: 90, ahead: 365 }, TODAY), unzoned: 'UTC' }
    const expanded = expandSlowly(expansionOf(state, options)!)
    const { count: spanCount, value } = stepsOf(spanSteps('id', state, expanded, options))
    // Once for the spans of members, and once for those that were taken.
    expect(spanCount).toBeGreaterThan((2 * 2_000) / STEP_MEMBERS)
    expect([value.spans.length, value.cancelledStarts!.length]).toEqual(
      kind === 'exceptions' ? [2_000, 0] : [0, 2_000],
    )
  },
)

test('a series with more exceptions than one statement writes is written once', async () => {
  await using database = await openTestDatabase()
  await using door = await openCalendarDoor(database)
  const account = await door.openAccount('files')
  await account.pass()
  const item = series(450, 'exceptions')
  const written = async () => {
    const { rows } = await sql<{ id: string; xmin: string }>`
      select id, xmin::text from calendar_event where account_id = ${account.id} order by id
    `.execute(door.db)
    return rows
  }
  await account.record([item])
  const before = await written()
  expect(before).toHaveLength(451)
  await account.record([item])
  expect(await written()).toEqual(before)
  const changed = item.members.exceptions.map((one, nth) =>
    nth === 449 ? { ...one, event: { ...one.event, subject: 'Changed' } } : one,
  )
  await account.record([{ ...item, members: { ...item.members, exceptions: changed } }])
  const { rows } = await sql<{ data: { event: { subject: string } } }>`
    select data from event where type = 'calendar_event.updated' and account_id = ${account.id}
  `.execute(door.db)
  expect(rows.map(({ data }) => data.event.subject)).toEqual(['Changed'])
})
