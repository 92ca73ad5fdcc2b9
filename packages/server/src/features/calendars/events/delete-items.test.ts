import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { DAY_MS, printWall } from '../../../kit/wall-clock.ts'
import { lockingHalf } from '../../../accounts/halves/lock.ts'
import { deleteSomeEnded, recordEndedCalendars } from '../calendars/record.ts'
import { loadLockedCalendars } from '../calendars/record-account.ts'
import { listCalendars } from '../calendars/store.ts'
import { TAKEN_ALONG_MAX } from './delete-items.ts'

const opened = new AsyncDisposableStack()
let door: Awaited<ReturnType<typeof openCalendarDoor>>
beforeAll(async () => {
  door = opened.use(await openCalendarDoor(opened.use(await openTestDatabase())))
})
afterAll(() => opened.disposeAsync())

const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS
const wall = (days: number, hours = 0) => printWall(TODAY + days * DAY_MS + hours * 3_600_000)

/** An account with three series, two of which have more spans than one statement is to take along. */
async function openLargeSeries() {
  const account = await door.openAccount('files')
  const { memory, id } = account
  const [calendar = ''] = memory.calendars.keys()
  const items = [0, 1, 2].map(nth =>
    memory.add(
      calendar,
      { start: { wall: wall(-100, nth), zone: 'UTC' }, end: { wall: wall(-100, nth + 1), zone: 'UTC' } },
      { recurrence: ['RRULE:FREQ=HOURLY;INTERVAL=3'] },
    ),
  )
  await account.pass()
  const { rows: series } = await sql<{ spans: number }>`
    select count(*)::int as spans from calendar_span where account_id = ${id} group by root_id
  `.execute(door.db)
  for (const { spans } of series) expect(spans).toBeGreaterThan(TAKEN_ALONG_MAX / 2)
  const count = async () => {
    const { rows } = await sql<{ count: number }>`
      select count(*)::int as count from calendar_event where account_id = ${id}
    `.execute(door.db)
    return rows[0]!.count
  }
  expect(await count()).toBe(3)
  return { account, items, count }
}

test('events of a calendar that is gone are deleted as many at a time as their spans allow', async () => {
  const { account, count } = await openLargeSeries()
  const calendars = await listCalendars(door.db, account.id)
  await inTransaction(door.db, door.door.tenantId, async unit => {
    const loaded = await loadLockedCalendars(unit, account.id, lockingHalf(unit, account.id, 'calendar'))
    await recordEndedCalendars(unit, loaded!.account, calendars)
  })
  const deleteSome = () =>
    inTransaction(door.db, door.door.tenantId, unit => deleteSomeEnded(unit, account.id))
  expect([await deleteSome(), await count()]).toEqual([true, 1])
  expect([await deleteSome(), await count()]).toEqual([true, 0])
  expect([await deleteSome(), await deleteSome()]).toEqual([true, false])
})

test('series that are found nowhere any more are all deleted, and all announced', async () => {
  const { account, items, count } = await openLargeSeries()
  for (const { key } of items) account.memory.remove(key)
  await account.pass()
  expect(await count()).toBe(0)
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from event
    where type = 'calendar_event.deleted' and account_id = ${account.id}
  `.execute(door.db)
  expect(rows[0]!.count).toBe(3)
})
