import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { Doubts, SECOND_LOOK_SECONDS } from '../../../sync/doubts.ts'

const COUNT = 510

test('a transaction marks at most 500 of the events that are gone', async () => {
  await using database = await openTestDatabase()
  await using door = await openCalendarDoor(database)
  const account = await door.openAccount('files')
  const { memory } = account
  const [calendar = ''] = memory.calendars.keys()
  const items = Array.from({ length: COUNT }, () => memory.add(calendar, {}))
  // On a busy machine, a pass leaves the rest to the next one.
  for (let hasMore = true; hasMore;) ({ hasMore } = await account.pass())
  for (const { key } of items) memory.remove(key)
  let now = 0
  const doubts = new Doubts(() => now)
  await account.pass(doubts)
  now = SECOND_LOOK_SECONDS * 1_000
  // The process is stopped before it looks for them elsewhere.
  const looks = () => memory.calls.filter(call => call === 'listCalendars').length
  const before = looks()
  memory.onAwait = async () => {
    if (looks() > before + 1) throw new Error('stopped')
  }
  await expect(account.pass(doubts)).rejects.toThrow('stopped')
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from calendar_event
    where account_id = ${account.id} and missing_look is not null group by xmin::text order by 1
  `.execute(door.db)
  expect(rows.map(({ count }) => count)).toEqual([10, 500])
  memory.onAwait = async () => {}
  await account.pass(doubts)
  now *= 2
  await account.pass(doubts)
  const { rows: left } = await sql`select from calendar_event where account_id = ${account.id}`.execute(
    door.db,
  )
  expect(left).toEqual([])
})
