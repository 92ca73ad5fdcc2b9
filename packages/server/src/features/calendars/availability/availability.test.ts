import type { AccountAvailability, SharedAvailability } from '@waxwing/contract/calendars/availability.ts'
import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { read } from '../../../../test/calendars/odd/edit-file.ts'
import { PLAIN_EVENT } from '../../../../test/memory-calendars.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { calendarFile, eventText } from '../../../../test/servers/event-text.ts'
import { newId } from '../../../kit/ids.ts'
import { DAY_MS, printDay, printWall } from '../../../kit/wall-clock.ts'
import type { RemoteEvent } from '../../../providers/calendars.ts'
import { ProviderFailure } from '../../../providers/failure.ts'

type Door = Awaited<ReturnType<typeof openCalendarDoor>>
type Account = Awaited<ReturnType<Door['openAccount']>>

const opened = new AsyncDisposableStack()
let door: Door
beforeAll(async () => {
  door = opened.use(await openCalendarDoor(opened.use(await openTestDatabase())))
})
afterAll(() => opened.disposeAsync())

const HOUR = 3_600_000
/** A Monday that lies in the window whenever the test runs. */
const MONDAY = Math.floor((Date.now() + 30 * DAY_MS) / (7 * DAY_MS)) * 7 * DAY_MS + 4 * DAY_MS
const iso = (days: number, hours = 0) => new Date(MONDAY + days * DAY_MS + hours * HOUR).toISOString()
const inUtc = (days: number, hours: number) => ({
  wall: printWall(MONDAY + days * DAY_MS + hours * HOUR),
  zone: 'UTC',
})
const times = (days: number, hours: number, length = 1) => ({
  start: inUtc(days, hours),
  end: inUtc(days, hours + length),
})
const range = (days: number, from: number, to: number) => ({ start: iso(days, from), end: iso(days, to) })
const firstOf = ({ memory }: Account) => [...memory.calendars.keys()][0]!

async function accountWith(...events: Array<Partial<RemoteEvent>>): Promise<Account> {
  const account = await door.openAccount('files')
  for (const event of events) account.memory.add(firstOf(account), event)
  await account.pass()
  return account
}

async function find(account: Account, question: object): Promise<AccountAvailability> {
  const { status, body } = await door.post<AccountAvailability>(`${account.path}/availability/find`, question)
  expect({ status, body }).toMatchObject({ status: 200 })
  return body
}

async function findShared(question: object): Promise<SharedAvailability> {
  const { status, body } = await door.post<SharedAvailability>('/v1/availability/find', question)
  expect({ status, body }).toMatchObject({ status: 200 })
  return body
}

const starts = ({ slots }: { slots: Array<{ start: string }> }) => slots.map(({ start }) => start)

describe('busy times of an account', () => {
  test.each([false, true])(
    'are those of busy events, by showAs, status and response (whole days: %s)',
    async isAllDay => {
      const account = await door.openAccount('members')
      const expected: string[] = []
      let nth = 0
      for (const showAs of ['free', 'busy', 'tentative', 'oof', 'working_elsewhere', 'unknown'] as const)
        for (const status of ['confirmed', 'tentative', 'cancelled'] as const)
          for (const response of ['accepted', 'declined', 'needs_action'] as const) {
            // They do not touch each other.
            const day = nth++
            const at = isAllDay
              ? {
                  start: { wall: printDay(MONDAY + day * DAY_MS), zone: null },
                  end: { wall: printDay(MONDAY + (day + 1) * DAY_MS), zone: null },
                }
              : times(day, 9)
            const kind = nth % 2 === 0 ? { recurrence: ['RRULE:FREQ=DAILY;COUNT=1'] } : {}
            account.memory.add(
              firstOf(account),
              { ...at, showAs, status, self: { isOrganizer: false, response } },
              kind,
            )
            const isFree = showAs === 'free' || showAs === 'working_elsewhere'
            if (!isFree && status !== 'cancelled' && response !== 'declined')
              for (let hour = isAllDay ? 0 : 9; hour < (isAllDay ? 24 : 10); hour++)
                expected.push(iso(day, hour))
          }
      await account.pass()
      const question = { start: iso(0), end: iso(54), durationMinutes: 60, stepMinutes: 60 }
      const { busy, slots } = await find(account, question)
      const hours = busy.flatMap(({ start, end }) => {
        const each: string[] = []
        for (let at = Date.parse(start); at < Date.parse(end); at += HOUR)
          each.push(new Date(at).toISOString())
        return each
      })
      expect(hours).toEqual(expected)
      const taken = new Set(expected)
      for (const { start } of slots) expect(taken.has(start)).toBe(false)
      expect(slots).toHaveLength(54 * 24 - expected.length)
    },
  )

  test('are merged, ascending and clipped to the range', async () => {
    const account = await accountWith(
      times(0, 8, 2),
      times(0, 9, 2),
      times(0, 11, 1),
      times(0, 13, 0),
      times(0, 14, 1),
      times(-3, 0, 3 * 24 + 1),
      times(0, 23, 60),
    )
    const { busy } = await find(account, range(0, 0.5, 24))
    expect(busy).toEqual([range(0, 0.5, 1), range(0, 8, 12), range(0, 14, 15), range(0, 23, 24)])
  })

  test('follow a series with its exceptions', async () => {
    const account = await door.openAccount('files')
    const { key } = account.memory.add(firstOf(account), times(0, 9), {
      recurrence: ['RRULE:FREQ=DAILY;COUNT=4'],
    })
    account.memory.setMember(key, inUtc(1, 9).wall, { ...PLAIN_EVENT, ...times(1, 15) })
    account.memory.setMember(key, inUtc(2, 9).wall, { ...PLAIN_EVENT, ...times(2, 9), showAs: 'free' })
    account.memory.setMember(key, inUtc(3, 9).wall, null)
    await account.pass()
    const { busy } = await find(account, { start: iso(0), end: iso(4) })
    expect(busy).toEqual([range(0, 9, 10), range(1, 15, 16)])
  })
})

/** A zone as a file defines it, that is always so many minutes ahead of UTC. */
const fixedZone = (tzid: string, minutes: number) => {
  const two = (value: number) => String(value).padStart(2, '0')
  const offset = `+${two(Math.floor(minutes / 60))}${two(minutes % 60)}`
  const changes = ['DTSTART:19700101T000000', `TZOFFSETFROM:${offset}`, `TZOFFSETTO:${offset}`]
  const observance = ['BEGIN:STANDARD', ...changes, 'END:STANDARD']
  return ['BEGIN:VTIMEZONE', `TZID:${tzid}`, ...observance, 'END:VTIMEZONE'].join('\r\n')
}

test.each([
  ['W. Europe Standard Time', 180],
  ['tzone://Microsoft/Custom', 345],
  ['Customized Time Zone', 765],
])('busy times in the zone %s of a file are those of its definition', async (tzid, minutes) => {
  const lines = [`DTSTART;TZID="${tzid}":${inUtc(3, 20).wall}`, 'DURATION:PT1H', 'RRULE:FREQ=WEEKLY;COUNT=2']
  const file = calendarFile([fixedZone(tzid, minutes), eventText('one', lines)])
  const { event, recurrence } = read(Buffer.from(file))
  const account = await door.openAccount('files')
  account.memory.add(firstOf(account), event!, { recurrence })
  await account.pass()
  const { busy, slots } = await find(account, {
    start: iso(0),
    end: iso(14),
    durationMinutes: 15,
    stepMinutes: 15,
  })
  const from = 20 - minutes / 60
  expect(busy).toEqual([range(3, from, from + 1), range(10, from, from + 1)])
  expect(slots).toHaveLength(14 * 96 - 8)
})

test('busy times are those of the last look, which a change of the provider shows in', async () => {
  const account = await accountWith(times(0, 9))
  const [key = ''] = account.memory.items.keys()
  const ask = { ...range(0, 8, 12), durationMinutes: 60, stepMinutes: 60 }
  expect(starts(await find(account, ask))).toEqual([8, 10, 11].map(hour => iso(0, hour)))
  account.memory.update(key, times(0, 10))
  await account.pass()
  expect(starts(await find(account, ask))).toEqual([8, 9, 11].map(hour => iso(0, hour)))
  account.memory.remove(key)
  await account.pass()
  expect(starts(await find(account, ask))).toHaveLength(4)
})

test('busy times are read up to a bound, and an account with more of them is unresolved', async () => {
  const few = await accountWith(times(0, 9))
  const many = await accountWith(times(0, 10))
  const tooMany = await accountWith(times(0, 11))
  const repeat = (account: Account, count: number) =>
    sql`
      insert into calendar_span select gen_random_uuid(), account_id, calendar_id, root_id, event_id, start_at, end_at,
        start_wall, end_wall, member, provider_key, is_busy, is_long
      from calendar_span cross join generate_series(1, ${count}) where account_id = ${account.id}
    `.execute(door.db)
  await repeat(many, 2_500)
  await repeat(tooMany, 20_000)
  const accountIds = [tooMany, few, many].map(({ id }) => id)
  const found = await findShared({ accountIds, start: iso(0, 9), end: iso(0, 12), durationMinutes: 60 })
  expect(found.unresolved).toEqual([tooMany.id])
  expect(found.accounts).toEqual([
    { accountId: few.id, busy: [range(0, 9, 10)] },
    { accountId: many.id, busy: [range(0, 10, 11)] },
  ])
})

describe('slots of an account', () => {
  test('lie in hours, off busy times and their buffers, and the explanation has the others', async () => {
    const account = await accountWith({ ...times(0, 11), subject: 'Secret' })
    const question = {
      start: iso(0),
      end: iso(0, 18),
      durationMinutes: 60,
      stepMinutes: 60,
      timeZone: 'UTC',
      hours: {
        mon: [
          { start: '09:00', end: '12:00' },
          { start: '12:00', end: '14:30' },
        ],
      },
      bufferBeforeMinutes: 15,
      explain: true,
    }
    const found = await find(account, question)
    expect(found.slots).toEqual([range(0, 9, 10), range(0, 10, 11), range(0, 13, 14)])
    const { body } = await door.get<{ items: Calendar[] }>(`${account.path}/calendars`)
    const listed = await door.get<{ items: CalendarEvent[] }>(
      `${account.path}/calendar-events?start=${iso(0)}&end=${iso(1)}`,
    )
    const because = (code: string) => ({
      code,
      accountId: account.id,
      address: null,
      eventId: listed.body.items[0]!.id,
      ...range(0, 11, 12),
    })
    const closed = {
      code: 'outside_hours',
      accountId: null,
      address: null,
      eventId: null,
      start: null,
      end: null,
    }
    const outside = (hour: number) => ({ ...range(0, hour, hour + 1), reasons: [closed] })
    expect(found.explanation).toEqual({
      accounts: [
        {
          accountId: account.id,
          asOf: null,
          calendars: [{ calendarId: body.items[0]!.id, name: 'first', isCounted: true, reason: 'primary' }],
        },
      ],
      refused: [
        // The grid of the Monday before goes on.
        ...[0, 1, 2, 3, 4, 5, 6, 7, 8].map(outside),
        { ...range(0, 11, 12), reasons: [because('busy')] },
        { ...range(0, 12, 13), reasons: [because('buffer')] },
        ...[14, 15, 16, 17].map(outside),
      ],
      truncated: false,
    })
    expect(JSON.stringify(found)).not.toContain('Secret')
    const { explanation: _, ...plain } = found
    expect(await find(account, { ...question, explain: false })).toEqual(plain)
  })

  test('start at local midnight without hours, in elapsed minutes', async () => {
    const account = await accountWith()
    const question = { start: iso(0), end: iso(0, 2), timeZone: 'Asia/Kathmandu' }
    expect(starts(await find(account, question))).toEqual([iso(0, 0.25), iso(0, 0.75), iso(0, 1.25)])
    expect(starts(await find(account, { ...question, timeZone: undefined }))).toHaveLength(4)
  })

  test('are at most 2,000', async () => {
    const account = await accountWith()
    const question = { start: iso(0), end: iso(40), durationMinutes: 5, stepMinutes: 5 }
    const { slots, truncated, complete } = await find(account, question)
    expect([slots.length, truncated, complete]).toEqual([2_000, true, true])
  })
})

describe('calendars that count', () => {
  async function arrange() {
    const account = await door.openAccount('files')
    const { memory } = account
    const add = (key: string, hour: number) => memory.add(key, times(0, hour))
    add(firstOf(account), 1)
    add(memory.createCalendar('own'), 2)
    add(memory.createCalendar('hidden', { isHidden: true }), 3)
    add(memory.createCalendar('shared', { access: 'writer' }), 4)
    add(memory.createCalendar('times', { access: 'freebusy' }), 5)
    await account.pass()
    const { body } = await door.get<{ items: Calendar[] }>(`${account.path}/calendars`)
    const idOf = (name: string) => body.items.find(each => each.name === name)!.id
    return { account, idOf }
  }

  test('are the primary one and those that the account owns and does not hide, or those that are named', async () => {
    const { account, idOf } = await arrange()
    const day = { start: iso(0), end: iso(1), explain: true }
    const found = await find(account, day)
    expect(found.busy).toEqual([range(0, 1, 3)])
    expect(found.explanation!.accounts[0]!.calendars.map(({ name, reason }) => [name, reason])).toEqual([
      ['first', 'primary'],
      ['own', 'owned'],
      ['hidden', 'hidden'],
      ['shared', 'not_owned'],
      ['times', 'not_owned'],
    ])
    const named = await find(account, { ...day, calendarIds: [idOf('hidden'), idOf('times')] })
    expect(named.busy).toEqual([range(0, 3, 4), range(0, 5, 6)])
  })

  test('are those of each account by itself', async () => {
    const { account, idOf } = await arrange()
    const other = await accountWith(times(0, 7))
    const question = { accountIds: [account.id, other.id], start: iso(0), end: iso(1) }
    const { accounts } = await findShared({ ...question, calendarIds: [idOf('shared')] })
    expect(accounts).toEqual([
      { accountId: account.id, busy: [range(0, 4, 5)] },
      { accountId: other.id, busy: [range(0, 7, 8)] },
    ])
  })

  test('must be of an account that is asked about', async () => {
    const { account, idOf } = await arrange()
    const other = await accountWith()
    for (const calendarIds of [[newId()], [idOf('own')]])
      expect(
        await door.post(`${other.path}/availability/find`, { start: iso(0), end: iso(1), calendarIds }),
      ).toMatchObject({ status: 422, body: { code: 'unknown_calendar' } })
    const question = {
      accountIds: [account.id, other.id],
      start: iso(0),
      end: iso(1),
      calendarIds: [newId()],
    }
    expect(await door.post('/v1/availability/find', question)).toMatchObject({
      status: 422,
      body: { code: 'unknown_calendar' },
    })
  })
})

describe('several accounts', () => {
  const hours = { start: iso(0, 9), end: iso(0, 12), durationMinutes: 60, stepMinutes: 60 }

  test('are all free, or one of them', async () => {
    const one = await accountWith(times(0, 9), times(0, 11))
    const other = await accountWith(times(0, 10), times(0, 11))
    const accountIds = [other.id, one.id, other.id]
    expect((await findShared({ ...hours, accountIds, mode: 'all' })).slots).toEqual([])
    const any = await findShared({ ...hours, accountIds, mode: 'any', explain: true })
    expect(any.slots).toEqual([
      { ...range(0, 9, 10), accountIds: [other.id] },
      { ...range(0, 10, 11), accountIds: [one.id] },
    ])
    expect(any.accounts.map(({ accountId }) => accountId)).toEqual([other.id, one.id])
    const { refused } = any.explanation!
    expect(refused.map(({ reasons }) => reasons.map(each => [each.code, each.accountId]))).toEqual([
      [
        ['busy', other.id],
        ['busy', one.id],
      ],
    ])
  })

  test('that cannot be read are unresolved: paused, off, not initialized', async () => {
    const free = await accountWith()
    const paused = await accountWith()
    await sql`update account set status = 'paused' where id = ${paused.id}`.execute(door.db)
    const off = await door.openAccount('files', { calendarEnabled: false })
    const fresh = await door.openAccount('files')
    const lost = [paused.id, off.id, fresh.id]
    const question = { ...hours, accountIds: [free.id, ...lost], explain: true }
    const lenient = await findShared(question)
    expect(lenient.slots.map(({ accountIds }) => accountIds)).toEqual([[free.id], [free.id], [free.id]])
    expect(lenient).toMatchObject({ complete: false, unresolved: lost })
    expect(await findShared({ ...question, accountIds: lost })).toMatchObject({ slots: [], unresolved: lost })
    const all = await findShared({ ...question, requireAll: true })
    expect(all).toMatchObject({ slots: [], complete: false, unresolved: lost })
    expect(all.accounts).toEqual([{ accountId: free.id, busy: [] }])
    const [first] = all.explanation!.refused
    expect(first!.reasons.map(({ code, accountId }) => [code, accountId])).toEqual(
      lost.map(id => ['unresolved', id]),
    )
    const any = await findShared({ ...question, mode: 'any' })
    expect(any.slots.map(({ accountIds }) => accountIds)).toEqual([[free.id], [free.id], [free.id]])
    expect(any.complete).toBe(false)
    expect(await find(fresh, hours)).toMatchObject({
      busy: [],
      slots: [],
      complete: false,
      unresolved: [fresh.id],
    })
  })

  test('are not complete while a series has more occurrences than are indexed', async () => {
    const account = await accountWith(times(0, 9))
    expect((await find(account, hours)).complete).toBe(true)
    await sql`update calendar_event set is_truncated = true where account_id = ${account.id}`.execute(door.db)
    expect(await find(account, hours)).toMatchObject({ complete: false, unresolved: [] })
  })
})

describe('attendees', () => {
  const GRACE = 'grace@example.com'
  const question = { start: iso(0, 9), end: iso(0, 12), durationMinutes: 60, stepMinutes: 60 }
  const busyAt = (hours: number) => ({ start: new Date(iso(0, hours)), end: new Date(iso(0, hours + 1)) })

  test('must be free, if a provider answers for them', async () => {
    const account = await accountWith(times(0, 11))
    account.memory.busy = new Map([[GRACE, [busyAt(10), busyAt(9.9), busyAt(30)]]])
    const asked = {
      ...question,
      attendees: ['Nobody@example.com', GRACE, 'GRACE@example.com'],
      explain: true,
    }
    const found = await find(account, asked)
    expect(found).toMatchObject({ complete: false, unresolved: ['Nobody@example.com'], slots: [] })
    expect(found.attendees).toEqual([
      { address: 'Nobody@example.com', busy: [], resolved: false },
      { address: GRACE, busy: [range(0, 9.9, 11)], resolved: true },
    ])
    expect(found.explanation!.refused[0]!.reasons).toEqual([
      { code: 'busy', accountId: null, address: GRACE, eventId: null, ...range(0, 9.9, 10.9) },
    ])
    const later = { ...asked, end: iso(0, 13) }
    expect(starts(await find(account, later))).toEqual([iso(0, 12)])
    const strict = await find(account, { ...later, requireAll: true })
    expect(strict.slots).toEqual([])
    expect(strict.explanation!.refused.at(-1)!.reasons).toMatchObject([
      { code: 'unresolved', address: 'Nobody@example.com', eventId: null, start: null },
    ])
  })

  test('must be free with either mode, and the answer of one provider is enough', async () => {
    const one = await accountWith()
    const other = await accountWith(times(0, 9))
    other.memory.busy = new Map([[GRACE, [busyAt(10)]]])
    const asked = { ...question, accountIds: [one.id, other.id], attendees: [GRACE] }
    const any = await findShared({ ...asked, mode: 'any' })
    expect(any.slots.map(({ start, accountIds }) => [start, accountIds])).toEqual([
      [iso(0, 9), [one.id]],
      [iso(0, 11), [one.id, other.id]],
    ])
    expect(starts(await findShared(asked))).toEqual([iso(0, 11)])
  })

  test('are unresolved while the provider fails', async () => {
    const account = await accountWith()
    account.memory.busy = new Map([[GRACE, []]])
    account.memory.onAwait = () => {
      throw new ProviderFailure('unavailable', 'The provider is down.')
    }
    const found = await find(account, { ...question, attendees: [GRACE] })
    expect(found).toMatchObject({ complete: false, unresolved: [GRACE] })
    expect(found.slots).toHaveLength(3)
  })
})
