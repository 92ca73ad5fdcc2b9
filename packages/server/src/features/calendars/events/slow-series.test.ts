import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { openExpander } from '../../../kit/recurrence/expander.ts'
import { DAY_MS, printWall } from '../../../kit/wall-clock.ts'

const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS
const wall = (days: number, minutes = 0) => printWall(TODAY + days * DAY_MS + minutes * 60_000)
const times = {
  start: { wall: wall(-3000), zone: 'UTC' },
  end: { wall: wall(-3000, 5), zone: 'UTC' },
}

test('no transaction waits while series that take long are expanded', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  await using thread = openExpander()
  let asked = 0
  const expander: typeof thread = {
    ...thread,
    async expand(party, expansion) {
      asked++
      // The transactions that record calendars lock this row.
      await sql`select from account_half where account_id = ${party} for update nowait`.execute(db)
      return thread.expand(party, expansion)
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
  await using door = await openCalendarDoor(database, { expander })
  const account = await door.openAccount('files')
  const [calendar = ''] = account.memory.calendars.keys()
  for (const rule of ['FREQ=DAILY;COUNT=3050', 'FREQ=HOURLY;INTERVAL=12;COUNT=7000'])
    account.memory.add(calendar, times, { recurrence: [`RRULE:${rule}`] })
  await account.pass()
  expect(asked).toBe(2)
  const count = async () => {
    const { rows } = await sql<{ spans: number }>`
      select count(*)::int as spans from calendar_span where account_id = ${account.id} group by root_id order by 1
    `.execute(db)
    return rows.map(({ spans }) => spans)
  }
  const [few = 0, many = 0] = await count()
  expect(few).toBeGreaterThan(50)
  expect(many).toBeGreaterThan(800)
  door.setDaysLater(20)
  await door.roll()
  // The first series has ended, so the thread is not asked about it.
  expect(asked).toBe(3)
  const later = await count()
  expect([later[0], (later[1] ?? 0) > many]).toEqual([few, true])
})

test('accounts take turns at the thread', async () => {
  await using expander = openExpander()
  const expansion = { lines: ['RRULE:FREQ=DAILY'], start: times.start, from: wall(0), to: wall(20) }
  const expanded: string[] = []
  const ask = async (party: string) => {
    const members = await expander.expand(party, expansion)
    expanded.push(party)
    expect(members().members).toHaveLength(20)
  }
  await Promise.all([...Array.from({ length: 6 }, () => ask('busy')), ask('other')])
  expect(expanded.indexOf('other')).toBeLessThanOrEqual(2)
})
