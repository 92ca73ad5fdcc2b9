import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { openCalendarDoor, readCalendarFeed } from '../../../../test/calendar-door.ts'
import { PLAIN_EVENT } from '../../../../test/memory-calendars.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { DAY_MS, printDay, printWall } from '../../../kit/wall-clock.ts'
import { memberId } from './spans.ts'

type Account = Awaited<ReturnType<Awaited<ReturnType<typeof openCalendarDoor>>['openAccount']>>

const opened = new AsyncDisposableStack()
let door: Awaited<ReturnType<typeof openCalendarDoor>>
beforeAll(async () => {
  door = opened.use(await openCalendarDoor(opened.use(await openTestDatabase())))
})
afterEach(() => door.setDaysLater(0))
afterAll(() => opened.disposeAsync())

const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS
const HOUR_MS = 3_600_000
const wall = (days: number, hours = 0) => printWall(TODAY + days * DAY_MS + hours * HOUR_MS)
const iso = (days: number, hours = 0) => new Date(TODAY + days * DAY_MS + hours * HOUR_MS).toISOString()
const times = (days: number, hours: number, zone: string | null = 'UTC') => ({
  start: { wall: wall(days, hours), zone },
  end: { wall: wall(days, hours + 1), zone },
})
const firstOf = ({ memory }: Account) => [...memory.calendars.keys()][0]!

async function list({ path }: Account, from: number, to: number): Promise<CalendarEvent[]> {
  const query = `start=${iso(from)}&end=${iso(to)}&limit=500`
  const { status, body } = await door.get<{ items: CalendarEvent[] }>(`${path}/calendar-events?${query}`)
  expect(status).toBe(200)
  return body.items
}

const feedOf = async ({ id }: Account) =>
  (await readCalendarFeed(door.db, id)).filter(({ type }) => type.startsWith('calendar_event.'))

async function countRows(table: 'calendar_event' | 'calendar_span', { id }: Account): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from ${sql.table(table)} where account_id = ${id}
  `.execute(door.db)
  return rows[0]!.count
}

describe('the window', () => {
  test('moves on with the days, in silence', async () => {
    const account = await door.openAccount('files')
    const { memory } = account
    memory.add(firstOf(account), times(-200, 9), { recurrence: ['RRULE:FREQ=DAILY'] })
    const { key } = memory.add(firstOf(account), times(-200, 12), { recurrence: ['RRULE:FREQ=WEEKLY'] })
    memory.setMember(key, wall(-200 + 7 * 86, 12), null)
    memory.add(firstOf(account), times(500, 9))
    await account.pass()
    door.setDaysLater(60)
    expect(await list(account, 405, 415)).toEqual([])
    // Two processes at once.
    await Promise.all([door.roll(), door.roll()])
    const daily = (await list(account, 405, 415)).filter(({ start }) => start.dateTime?.includes('T09'))
    expect(daily.map(({ start }) => start.dateTime)).toEqual(
      Array.from({ length: 10 }, (_, nth) => iso(405 + nth, 9)),
    )
    const { body } = await door.get<CalendarEvent>(
      `${account.path}/calendar-events/${(await list(account, 59, 74)).find(({ start }) => start.dateTime?.includes('T12'))!.seriesId}`,
    )
    expect(body.cancelledStarts).toEqual([iso(-200 + 7 * 86, 12)])
    door.setDaysLater(140)
    expect(await list(account, 500, 501)).toMatchObject([
      { kind: 'single', start: { dateTime: iso(500, 9) } },
    ])
    expect(await feedOf(account)).toEqual([])
  })

  test('keeps the ids of occurrences, and loses what is over', async () => {
    const account = await door.openAccount('members')
    const { memory } = account
    const { key } = memory.add(firstOf(account), times(-20, 9), { recurrence: ['RRULE:FREQ=DAILY'] })
    memory.setMember(key, wall(-10, 9), { ...PLAIN_EVENT, ...times(-10, 10) })
    memory.add(firstOf(account), times(0, 9))
    memory.add(firstOf(account), times(-40, 9), { recurrence: ['RRULE:FREQ=DAILY;COUNT=30'] })
    await account.pass()
    const ids = (await list(account, 30, 40)).map(({ id }) => id)
    door.setDaysLater(110)
    await door.roll()
    await door.prune()
    expect((await list(account, 30, 40)).map(({ id }) => id)).toEqual(ids)
    // The series that goes on, without its exception.
    expect(await countRows('calendar_event', account)).toBe(1)
    const { rows } = await sql<{ first: Date }>`
      select min(start_at) as first from calendar_span where account_id = ${account.id}
    `.execute(door.db)
    expect(rows[0]!.first.getTime()).toBeGreaterThan(TODAY + 5 * DAY_MS)
    expect(await feedOf(account)).toEqual([])
  })

  test('announces no deletion of what a provider leaves out since it fell out of the window', async () => {
    const account = await door.openAccount('files')
    const { memory } = account
    memory.add(firstOf(account), times(-99, 9), { recurrence: ['RRULE:FREQ=DAILY;COUNT=4'] })
    const { key } = memory.add(firstOf(account), times(-96, 9))
    await account.pass()
    expect(await countRows('calendar_event', account)).toBe(2)
    memory.remove(key)
    await account.pass()
    expect(await countRows('calendar_event', account)).toBe(1)
    expect(await feedOf(account)).toEqual([])
  })

  test('takes in no item that is over when its provider reports a change of it', async () => {
    const account = await door.openAccount('files')
    await account.pass()
    const over = {
      type: 'item' as const,
      key: 'over',
      version: '1',
      uid: null,
      event: { ...PLAIN_EVENT, ...times(-300, 9) },
      recurrence: null,
      members: null,
      occurrences: null,
    }
    await account.record([over, { ...over, key: 'series', recurrence: ['RRULE:FREQ=DAILY;COUNT=5'] }])
    expect(await countRows('calendar_event', account)).toBe(0)
    expect(await feedOf(account)).toEqual([])
  })
})

describe('a series that is over', () => {
  test('is shown and listed with an exception that lies in the window', async () => {
    const account = await door.openAccount('files')
    const { memory } = account
    const { key } = memory.add(
      firstOf(account),
      { ...times(-400, 9), subject: 'Over' },
      {
        recurrence: ['RRULE:FREQ=DAILY;COUNT=3'],
      },
    )
    memory.setMember(key, wall(-399, 9), { ...PLAIN_EVENT, ...times(5, 9), subject: 'Moved' })
    await account.pass()
    await door.roll()
    await door.prune()
    const [moved, ...others] = await list(account, -80, 80)
    expect(others).toEqual([])
    expect(moved).toMatchObject({ kind: 'exception', subject: 'Moved', originalStart: iso(-399, 9) })
    const { body } = await door.get(`${account.path}/calendar-events/${moved!.seriesId}`)
    expect(body).toMatchObject({ kind: 'series', subject: 'Over' })
  })
})

describe('newer zone data', () => {
  /** Makes the instants of an account those of other zone data, which had the zone an hour further east. */
  async function shiftAs(release: string, { id }: Account) {
    await sql`
      update calendar_event set start_at = start_at - interval '1 hour', end_at = end_at - interval '1 hour',
        zone_release = case when kind <> 'exception' then ${release} end
      where account_id = ${id}
    `.execute(door.db)
    await sql`
      update calendar_span set start_at = start_at - interval '1 hour', end_at = end_at - interval '1 hour'
      where account_id = ${id}
    `.execute(door.db)
  }

  async function openSeries() {
    const account = await door.openAccount('files')
    const { memory } = account
    const { key } = memory.add(
      firstOf(account),
      { ...times(1, 9), subject: 'Series' },
      {
        recurrence: ['RRULE:FREQ=DAILY;COUNT=3'],
      },
    )
    memory.setMember(key, wall(2, 9), { ...PLAIN_EVENT, ...times(2, 11), subject: 'Exception' })
    memory.add(firstOf(account), { ...times(1, 20), subject: 'Single' })
    await account.pass()
    return account
  }

  test('makes instants again once, and announces those that changed', async () => {
    const account = await openSeries()
    const before = await list(account, 0, 10)
    await shiftAs('2000a', account)
    expect(await list(account, 0, 10)).not.toEqual(before)
    await Promise.all([door.roll(), door.roll()])
    await door.roll()
    expect(await list(account, 0, 10)).toEqual(before)
    const feed = await feedOf(account)
    expect(feed.map(({ data }) => [data.event!.subject, data.changes]).toSorted()).toEqual([
      ['Exception', ['start', 'end']],
      ['Series', ['start', 'end']],
      ['Single', ['start', 'end']],
    ])
    expect(feed.every(({ type }) => type === 'calendar_event.updated')).toBe(true)
  })

  test('of another process is kept by one with older data', async () => {
    const account = await openSeries()
    await shiftAs('9999z', account)
    const before = await list(account, 0, 10)
    await door.roll()
    expect(await list(account, 0, 10)).toEqual(before)
    expect(await feedOf(account)).toEqual([])
  })
})

describe('a change that concerns all events of a calendar', () => {
  test.each(['own zone', 'zone of the primary calendar'])(
    'of its %s moves days and floating times',
    async what => {
      const account = await door.openAccount('files')
      const { memory } = account
      const calendar =
        what === 'own zone' ? firstOf(account) : memory.createCalendar('second', { isPrimary: false })
      memory.add(calendar, {
        subject: 'Day',
        start: { wall: printDay(TODAY + DAY_MS), zone: null },
        end: { wall: printDay(TODAY + 2 * DAY_MS), zone: null },
      })
      const floating = memory.add(
        calendar,
        { subject: 'Floating', ...times(1, 9, null) },
        {
          recurrence: ['RRULE:FREQ=DAILY;COUNT=2'],
        },
      )
      memory.setMember(floating.key, wall(2, 9), {
        ...PLAIN_EVENT,
        ...times(2, 10, null),
        subject: 'Exception',
      })
      memory.add(calendar, { subject: 'Zoned', ...times(1, 9, 'Europe/Berlin') })
      await account.pass()
      const before = await list(account, -2, 9)
      memory.updateCalendar(firstOf(account), { timeZone: 'Etc/GMT+6' })
      await account.pass()
      const after = await list(account, -2, 9)
      const startOf = (events: CalendarEvent[], wanted: string) =>
        events.find(({ subject }) => subject === wanted)?.start
      expect(startOf(before, 'Floating')).toMatchObject({ dateTime: iso(1, 9) })
      expect(startOf(after, 'Floating')).toMatchObject({ dateTime: iso(1, 15), timeZone: null })
      expect(startOf(after, 'Exception')).toMatchObject({ dateTime: iso(2, 16) })
      expect(startOf(after, 'Zoned')).toEqual(startOf(before, 'Zoned'))
      expect(startOf(after, 'Day')).toEqual(startOf(before, 'Day'))
      const lists = async (from: number) =>
        (await list(account, from, from + 1)).filter(({ isAllDay }) => isAllDay).length
      expect([await lists(1), await lists(2)]).toEqual([1, 1])
      const feed = await feedOf(account)
      expect(feed.map(({ data }) => [data.event!.subject, data.changes]).toSorted()).toEqual([
        ['Exception', ['originalStart', 'start', 'end']],
        ['Floating', ['start', 'end']],
      ])
    },
  )

  test('of the addresses of the account changes who it is in them', async () => {
    const account = await door.openAccount('files')
    const { memory } = account
    const alias = `alias-${account.id}@example.com`
    const organizer = { name: null, address: 'boss@example.com' }
    const attendee = { name: null, address: alias, type: 'required', response: 'declined' } as const
    memory.add(firstOf(account), { ...times(1, 9), subject: 'Invited', organizer, attendees: [attendee] })
    const self = { isOrganizer: false, response: 'accepted' } as const
    memory.add(firstOf(account), { ...times(1, 10), subject: 'Told', organizer, attendees: [attendee], self })
    await account.pass()
    expect(await list(account, 0, 9)).toMatchObject([{ selfResponse: 'none' }, { selfResponse: 'accepted' }])
    await sql`
      insert into identity (id, tenant_id, account_id, address, compared_address)
      values (gen_random_uuid(), ${door.door.tenantId}, ${account.id}, ${alias}, ${alias})
    `.execute(door.db)
    await account.pass()
    expect(await list(account, 0, 9)).toMatchObject([
      { selfResponse: 'declined' },
      { selfResponse: 'accepted' },
    ])
    const { rows } = await sql<{ is_busy: boolean }>`
      select is_busy from calendar_span where account_id = ${account.id} order by start_at
    `.execute(door.db)
    expect(rows).toEqual([{ is_busy: false }, { is_busy: true }])
    expect(await feedOf(account)).toMatchObject([
      { type: 'calendar_event.updated', data: { event: { subject: 'Invited' }, changes: ['selfResponse'] } },
    ])
  })
})

describe('a series whose provider gives its occurrences', () => {
  const item = (given: { shown?: string; left?: number[]; version?: string } = {}) => ({
    type: 'item' as const,
    key: 'series',
    version: given.version ?? '1',
    uid: null,
    event: { ...PLAIN_EVENT, ...times(1, 9, 'Etc/GMT-1'), subject: given.shown ?? 'Given' },
    recurrence: ['RRULE:FREQ=DAILY;COUNT=4'],
    members: null,
    occurrences: (given.left ?? [1, 2, 3, 4]).map(day => ({
      member: wall(day, 9),
      key: `occurrence ${day}`,
      // In another zone, as such providers may give them.
      start: { wall: wall(day, 8), zone: 'Etc/GMT' },
      end: { wall: wall(day, 9), zone: 'Etc/GMT' },
    })),
  })
  const read = async ({ id }: Account) => {
    const { rows } = await sql<{ xmin: string; id: string }>`
      select id, xmin::text from calendar_event where account_id = ${id}
      union all select id, xmin::text from calendar_span where account_id = ${id} order by id
    `.execute(door.db)
    return rows
  }

  test('is written only when something differs, and lacks what its provider lacks', async () => {
    const account = await door.openAccount('files')
    await account.pass()
    await account.record([item()])
    const listed = await list(account, 0, 9)
    expect(listed.map(({ start }) => start.dateTime)).toEqual([1, 2, 3, 4].map(day => iso(day, 8)))
    const written = await read(account)
    await account.record([item()])
    expect(await read(account)).toEqual(written)
    await account.record([item({ left: [1, 2, 4] })])
    const left = await list(account, 0, 9)
    expect(left.map(({ id }) => id)).toEqual([listed[0], listed[1], listed[3]].map(event => event!.id))
    const { body } = await door.get<CalendarEvent>(`${account.path}/calendar-events/${left[0]!.seriesId}`)
    expect(body.cancelledStarts).toHaveLength(1)
    const feed = (await feedOf(account)).map(({ type, data }) => [type, data.changes])
    expect(feed).toEqual([
      ['calendar_event.created', undefined],
      ['calendar_event.updated', ['cancelledStarts']],
    ])
  })

  test('keeps its occurrences when one of its members is told, and is not expanded by the job', async () => {
    const account = await door.openAccount('files')
    await account.pass()
    await account.record([item({ left: [1, 4] })])
    const exception = { ...PLAIN_EVENT, ...times(4, 20), subject: 'Exception' }
    await account.record([
      {
        type: 'member',
        key: 'occurrence 4',
        version: '2',
        seriesKey: 'series',
        member: wall(4, 9),
        event: exception,
      },
    ])
    await sql`update calendar_event set zone_release = '' where account_id = ${account.id} and kind <> 'exception'`.execute(
      door.db,
    )
    door.setDaysLater(30)
    await door.roll()
    const listed = await list(account, 0, 9)
    expect(listed).toMatchObject([
      { kind: 'occurrence', start: { dateTime: iso(1, 8) } },
      { kind: 'exception', subject: 'Exception' },
    ])
    expect(listed[1]!.id).toBe(memberId(listed[0]!.seriesId!, wall(4, 9)))
  })
})

test('a series that loses its master is deleted, and its exceptions are announced again', async () => {
  const account = await door.openAccount('files')
  const { memory } = account
  const { key } = memory.add(
    firstOf(account),
    { ...times(1, 9), subject: 'Series' },
    {
      recurrence: ['RRULE:FREQ=DAILY;COUNT=3'],
    },
  )
  memory.setMember(key, wall(2, 9), { ...PLAIN_EVENT, ...times(2, 11), subject: 'Exception' })
  await account.pass()
  const [, exception] = await list(account, 0, 9)
  const held = memory.items.get(key)!
  const { event } = held
  held.event = null
  held.recurrence = []
  memory.setMember(key, wall(2, 9), { ...PLAIN_EVENT, ...times(2, 11), subject: 'Exception' })
  await account.pass()
  expect(await list(account, 0, 9)).toEqual([{ ...exception, seriesId: null }])
  expect((await door.get(`${account.path}/calendar-events/${exception!.seriesId}`)).status).toBe(404)
  memory.update(key, event!, ['RRULE:FREQ=DAILY;COUNT=3'])
  await account.pass()
  expect((await list(account, 0, 9))[1]).toEqual(exception)
  expect((await feedOf(account)).map(({ type, data }) => [type, data.event!.kind, data.changes])).toEqual([
    ['calendar_event.deleted', 'series', undefined],
    ['calendar_event.created', 'exception', undefined],
    ['calendar_event.created', 'series', undefined],
    ['calendar_event.updated', 'exception', ['seriesId']],
  ])
})
