import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCalendarDoor, readCalendarFeed } from '../../../../test/calendar-door.ts'
import { timesAt, TODAY } from '../../../../test/calendars/calendar-history.ts'
import { expectEqualIndex, readShown } from '../../../../test/calendars/equal-index.ts'
import type { CalendarsKind } from '../../../../test/memory-calendars.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'
import { ProviderFailure } from '../../../providers/failure.ts'

const opened = new AsyncDisposableStack()
let door: Awaited<ReturnType<typeof openCalendarDoor>>
beforeAll(async () => {
  door = opened.use(await openCalendarDoor(opened.use(await openTestDatabase())))
})
afterAll(() => opened.disposeAsync())

async function openAccount(kind: CalendarsKind) {
  const account = await door.openAccount(kind)
  const { memory, path } = account
  const [calendar = ''] = memory.calendars.keys()
  const recurrence = ['RRULE:FREQ=DAILY;COUNT=3']
  const { key } = memory.add(calendar, { ...timesAt(TODAY + 2 * DAY_MS), subject: 'First' }, { recurrence })
  await account.pass()
  const initial = await readShown(door.db, account.id)
  /** Does something while the answer of the next call of this name is under way. */
  const during = (name: string, work: () => Promise<unknown>) => {
    memory.onAwait = async call => {
      if (call !== `${name} answered`) return
      memory.onAwait = () => undefined
      await work()
    }
  }
  const events = `${path}/calendar-events`
  const range = `start=${new Date(TODAY).toISOString()}&end=${new Date(TODAY + 9 * DAY_MS).toISOString()}`
  const list = async () => (await door.get<{ items: CalendarEvent[] }>(`${events}?${range}`)).body.items
  const news = async () =>
    (await readCalendarFeed(door.db, account.id)).map(({ type, data }) => [type, ...(data.changes ?? [])])
  return { ...account, key, initial, during, list, news, event: `${events}/${initial[0]!.id}`, events }
}

const KINDS = ['files', 'members'] as const

test.each(KINDS)('of two changes of an event told as %s, the state of the later one stays', async kind => {
  const { during, event, news, ...account } = await openAccount(kind)
  during('changeEvent', async () => {
    const later = await door.patch(event, { location: 'Room' })
    expect(later).toMatchObject({ status: 200, body: { subject: 'Ours', location: 'Room' } })
  })
  const earlier = await door.patch(event, { subject: 'Ours' })
  expect(earlier).toMatchObject({ status: 200, body: { subject: 'Ours', location: 'Room' } })
  expect((await door.get(event)).body).toMatchObject({ subject: 'Ours', location: 'Room' })
  await account.pass()
  await expectEqualIndex(door.db, account, account.initial)
  expect(await news()).toEqual([['calendar.initialized'], ['calendar_event.updated', 'subject', 'location']])
})

test.each(KINDS)('an occurrence told as %s that is deleted during a change stays deleted', async kind => {
  const { during, event, events, list, ...account } = await openAccount(kind)
  const [, second] = await list()
  during('changeEvent', () => door.delete(`${events}/${second!.id}`))
  expect((await door.patch(event, { subject: 'Ours' })).status).toBe(200)
  expect((await list()).map(({ subject }) => subject)).toEqual(['Ours', 'Ours'])
  await account.pass()
  await expectEqualIndex(door.db, account, account.initial)
})

test('a change by another client that the sync finds during a change stays', async () => {
  const { during, event, news, memory, key, ...account } = await openAccount('files')
  during('changeEvent', async () => {
    memory.update(key, { location: 'Theirs' })
    await account.pass()
  })
  const ours = await door.patch(event, { subject: 'Ours' })
  expect(ours).toMatchObject({ status: 200, body: { subject: 'Ours', location: 'Theirs' } })
  expect(await news()).toEqual([['calendar.initialized'], ['calendar_event.updated', 'subject', 'location']])
})

test.each([
  ['files', 'copied'],
  ['files', 'done'],
  ['members', 'done'],
] as const)(
  'a look in the middle of a move of an event told as %s, which is %s, neither doubles the event nor gives it another id',
  async (kind, moment) => {
    const { memory, path, event, news, key, ...account } = await openAccount(kind)
    const [day] = [TODAY + 3 * DAY_MS]
    memory.setMember(key, timesAt(day).start.wall, {
      ...memory.items.get(key)!.event!,
      ...timesAt(day),
      subject: 'Odd',
    })
    memory.createCalendar('second')
    await account.pass()
    const initial = await readShown(door.db, account.id)
    const told = (await news()).length
    const { items } = (await door.get<{ items: Calendar[] }>(`${path}/calendars`)).body
    const calendarId = items[1]!.id
    let looks = 0
    memory.onAwait = async call => {
      if (call !== `moveEvent ${moment}`) return
      memory.onAwait = () => undefined
      for (; looks < 2; looks++) await account.pass()
    }
    expect(await door.patch(event, { calendarId })).toMatchObject({ status: 200, body: { calendarId } })
    expect(looks).toBe(2)
    await account.pass()
    await expectEqualIndex(door.db, { ...account, memory }, account.initial)
    const ids = (shown: readonly CalendarEvent[]) => shown.map(({ id }) => id).toSorted()
    expect(ids(await readShown(door.db, account.id))).toEqual(ids(initial))
    expect((await news()).slice(told)).toEqual(initial.map(() => ['calendar_event.updated', 'calendarId']))
    const marks = door.db.selectFrom('calendar_mark').selectAll().where('account_id', '=', account.id)
    expect(await marks.execute()).toEqual([])
  },
)

describe('a move that cannot be finished', () => {
  /** The copy is made, and the original cannot be deleted. */
  async function openStuck() {
    const account = await openAccount('files')
    const { memory, event, path } = account
    const target = memory.createCalendar('second')
    await account.pass()
    const { items } = (await door.get<{ items: Calendar[] }>(`${path}/calendars`)).body
    const calendarId = items[1]!.id
    memory.onAwait = call => {
      if (call === 'moveEvent copied') throw new ProviderFailure('unavailable', 'The server is broken.')
    }
    expect((await door.patch(event, { calendarId })).status).toBe(502)
    const wait = (minutes: number) =>
      sql`
        update calendar_intent set leased_until = clock_timestamp(),
          created_at = created_at - make_interval(mins => ${minutes})
        where account_id = ${account.id}
      `.execute(door.db)
    return { ...account, target, calendarId, wait }
  }

  test('hides no other new event of its target after minutes, and its copy until it is finished', async () => {
    const { memory, target, calendarId, wait, event, list, ...account } = await openStuck()
    memory.add(target, { ...timesAt(TODAY + 3 * DAY_MS), subject: 'Other' })
    const subjects = async () => new Set((await list()).map(({ subject }) => subject))
    await account.pass()
    expect(await subjects()).toEqual(new Set(['First']))
    await wait(10)
    await account.pass()
    expect(await list()).toHaveLength(4)
    expect(await subjects()).toEqual(new Set(['First', 'Other']))
    memory.onAwait = () => undefined
    await wait(0)
    await account.pass()
    await account.pass()
    expect(await door.get(event)).toMatchObject({ status: 200, body: { calendarId } })
    expect(await list()).toHaveLength(4)
    await expectEqualIndex(door.db, { ...account, memory }, account.initial)
  })

  test('has other writes of the event that are noted refused, of which nothing is left', async () => {
    const { event, memory, id, calendarId } = await openStuck()
    const items = JSON.stringify([...memory.items.values()])
    const refused = await door.patch(event, { calendarId, subject: 'New' })
    expect(refused).toMatchObject({ status: 409, body: { code: 'provider_conflict' } })
    expect(JSON.stringify([...memory.items.values()])).toBe(items)
    const { rows } = await sql`select from calendar_intent where account_id = ${id}`.execute(door.db)
    expect(rows).toHaveLength(1)
  })
})

test('of two changes of a calendar, the state of the later one stays', async () => {
  const { during, path, news } = await openAccount('files')
  const { items } = (await door.get<{ items: Calendar[] }>(`${path}/calendars`)).body
  const calendar = `${path}/calendars/${items[0]!.id}`
  during('changeCalendar', () => door.patch(calendar, { color: '#ff0000' }))
  const both = { name: 'Ours', color: '#ff0000' }
  expect(await door.patch(calendar, { name: 'Ours' })).toMatchObject({ status: 200, body: both })
  expect((await door.get<{ items: Calendar[] }>(`${path}/calendars`)).body.items).toMatchObject([both])
  expect(await news()).toEqual([['calendar.initialized'], ['calendar.updated', 'name', 'color']])
})
