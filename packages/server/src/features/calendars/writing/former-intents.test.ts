import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { newId } from '../../../kit/ids.ts'

const opened = new AsyncDisposableStack()
let door: Awaited<ReturnType<typeof openCalendarDoor>>
beforeAll(async () => {
  door = opened.use(await openCalendarDoor(opened.use(await openTestDatabase())))
})
afterAll(() => opened.disposeAsync())

test('a move that a process of an older release left half done is finished', async () => {
  const account = await door.openAccount('files')
  const { id: accountId, memory } = account
  const [from = ''] = memory.calendars.keys()
  const to = memory.createCalendar('other')
  const { key } = memory.add(from, { subject: 'Moved' })
  await account.pass()
  const { rows: events } = await sql<{ id: string }>`
    select id from calendar_event where account_id = ${accountId}
  `.execute(door.db)
  const itemId = events[0]!.id
  const creationId = newId()
  const place = { calendarKey: from, key }
  const options = {
    self: { name: null, address: 'ada@example.com' },
    own: new Set<string>(),
    notify: false,
    concernsOthers: false,
    window: { start: new Date(Date.now() - 1e9), end: new Date(Date.now() + 1e9) },
  }
  // The provider did the move, and the process died before its answer was recorded.
  await memory.connect().writer.moveEvent({ place, toCalendarKey: to, creationId, mayExist: false }, options)
  const former = {
    place,
    part: { type: 'all', timesOf: null },
    change: {},
    toCalendarKey: to,
    itemId,
    notify: false,
    concernsOthers: false,
  }
  await sql`
    insert into calendar_intent (id, account_id, intent, leased_until)
    values (${creationId}, ${accountId}, ${JSON.stringify(former)}::jsonb, clock_timestamp() - interval '1 minute')
  `.execute(door.db)
  await account.pass()
  const { rows: left } = await sql`select from calendar_intent where account_id = ${accountId}`.execute(
    door.db,
  )
  expect(left).toEqual([])
  const { rows: moved } = await sql<{ id: string; key: string }>`
    select calendar_event.id, calendar.provider_key as key
    from calendar_event join calendar on calendar.id = calendar_id where calendar_event.account_id = ${accountId}
  `.execute(door.db)
  expect(moved).toEqual([{ id: itemId, key: to }])
})

test('an intent that cannot be read keeps nothing from being followed, and ends after a day', async () => {
  const account = await door.openAccount('files')
  const { id: accountId, memory } = account
  const [calendar = ''] = memory.calendars.keys()
  await account.pass()
  const id = newId()
  await sql`
    insert into calendar_intent (id, account_id, intent, leased_until)
    values (${id}, ${accountId}, '{"asked": {"type": "change"}}', clock_timestamp() - interval '1 minute')
  `.execute(door.db)
  const left = async () => (await sql`select from calendar_intent where id = ${id}`.execute(door.db)).rows
  const count = async () =>
    (await sql`select from calendar_event where account_id = ${accountId}`.execute(door.db)).rows.length
  memory.add(calendar, { subject: 'Seen' })
  await account.pass()
  expect([await count(), await left()]).toEqual([1, [{}]])
  await sql`
    update calendar_intent set created_at = created_at - interval '2 days', leased_until = clock_timestamp()
    where id = ${id}
  `.execute(door.db)
  await account.pass()
  expect(await left()).toEqual([])
})
