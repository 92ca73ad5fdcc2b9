import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openCalendarDoor } from '../../../test/calendar-door.ts'
import { timesAt, TODAY } from '../../../test/calendars/calendar-history.ts'
import { tablesWith } from '../../../test/database-text.ts'
import { PLAIN_EVENT } from '../../../test/memory-calendars.ts'
import { openTestDatabase } from '../../../test/open-database.ts'
import type { Db } from '../../database/pool.ts'
import { newId } from '../../kit/ids.ts'
import { DAY_MS } from '../../kit/wall-clock.ts'
import { purgeCalendars } from './purge.ts'

const dayAfter = (days: number) => new Date(TODAY + days * DAY_MS).toISOString().slice(0, 10)
const NEVER = new AbortController().signal

test('a purge leaves nothing of the calendars of an account, and those of others as they are', async () => {
  await using database = await openTestDatabase()
  await using door = await openCalendarDoor(database)
  const fill = async (word: string) => {
    const account = await door.openAccount('members')
    const { id, memory, path } = account
    const calendar = memory.createCalendar(word, { description: word })
    const body = { contentType: 'text', content: word } as const
    const fields = { ...timesAt(TODAY), subject: word, location: word, body }
    const { key } = memory.add(calendar, fields, { key: word, recurrence: ['RRULE:FREQ=DAILY;COUNT=5'] })
    const wallOf = (day: number) => timesAt(TODAY + day * DAY_MS).start.wall
    memory.setMember(key, wallOf(1), { ...PLAIN_EVENT, ...fields, ...timesAt(TODAY + DAY_MS) })
    memory.setMember(key, wallOf(2), null)
    memory.add(calendar, fields, { key: `${word}-odd`, isUnreadable: true })
    await account.pass()
    const { body: listed } = await door.get<{ items: Array<{ id: string; name: string }> }>(
      `${path}/calendars`,
    )
    const calendarId = listed.items.find(({ name }) => name === word)!.id
    const events = `${path}/calendar-events`
    const { body: page } = await door.get<{ items: Array<{ seriesId: string | null }> }>(
      `${events}?start=${dayAfter(0)}T00:00:00Z&end=${dayAfter(9)}T00:00:00Z&calendarId=${calendarId}`,
    )
    expect(await door.patch(`${events}/${page.items[0]!.seriesId}`, { showAs: 'free' })).toMatchObject({
      status: 200,
    })
    const intent = JSON.stringify({ asked: { type: 'create', calendarKey: word } })
    await sql`
      insert into calendar_intent (id, account_id, intent, leased_until) values (${newId()}, ${id}, ${intent}, now())
    `.execute(door.db)
    return id
  }
  const [id, other] = [await fill('canary'), await fill('sparrow')]
  const [filled, kept] = [await countRows(door.db, id), await countRows(door.db, other)]
  expect(filled).toEqual(kept)
  expect(Object.entries(kept).filter(([name, count]) => count === 0 && !EMPTY.has(name))).toEqual([])

  await purgeCalendars(door.db, id, NEVER)

  expect(Object.values(await countRows(door.db, id)).every(count => count === 0)).toBe(true)
  expect(await countRows(door.db, other)).toEqual(kept)
  expect((await tablesWith(door.db, 'canary')).filter(name => !name.startsWith('event'))).toEqual([])
})

/** Tables in which this account has nothing: channels are those of grants, homes of followers, invitations those of mail. */
const EMPTY = new Set(['calendar_channel', 'calendar_home', 'pending_invitation'])

/** Numbers of rows that an account has in each table of calendars. */
async function countRows(db: Db, accountId: string): Promise<Record<string, number>> {
  const { rows } = await sql<{ name: string }>`
    select table_name as name from information_schema.columns
    where column_name = 'account_id' and table_schema = 'public' and table_name ~ 'calendar|invitation' order by 1
  `.execute(db)
  const counts: Record<string, number> = {}
  for (const { name } of rows) {
    const { rows: found } = await sql<{ count: number }>`
      select count(*)::int as count from ${sql.table(name)} where account_id = ${accountId}
    `.execute(db)
    counts[name] = found[0]!.count
  }
  return counts
}
