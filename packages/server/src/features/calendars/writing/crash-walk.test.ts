import type { CalendarEvent, CalendarEventWithBody } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { Killed, timesAt, TODAY } from '../../../../test/calendars/calendar-history.ts'
import { expectEqualIndex, readShown } from '../../../../test/calendars/equal-index.ts'
import type { CalendarsKind } from '../../../../test/memory-calendars.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'

type Door = Awaited<ReturnType<typeof openCalendarDoor>>

const opened = new AsyncDisposableStack()
let door: Door
beforeAll(async () => {
  door = opened.use(await openCalendarDoor(opened.use(await openTestDatabase())))
})
afterAll(() => opened.disposeAsync())

const NINE = 9 * 3_600_000
const at = (days: number) => new Date(TODAY + days * DAY_MS + NINE).toISOString()
/** More calls than any write has. */
const CALLS_MAX = 12

/** An account with a series of five days, of which one differs, and a second calendar. */
async function openAccount(kind: CalendarsKind) {
  const account = await door.openAccount(kind)
  const { memory, path } = account
  const [first = ''] = memory.calendars.keys()
  memory.createCalendar('second')
  const recurrence = ['RRULE:FREQ=DAILY;COUNT=5']
  const series = memory.add(first, { ...timesAt(TODAY + NINE), subject: 'Daily' }, { recurrence })
  const [day] = [TODAY + 3 * DAY_MS + NINE]
  memory.setMember(series.key, timesAt(day).start.wall, { ...series.event!, ...timesAt(day), subject: 'Odd' })
  await account.pass()
  const initial = await readShown(door.db, account.id)
  const events = `${path}/calendar-events`
  const list = async () =>
    (await door.get<{ items: CalendarEvent[] }>(`${events}?start=${at(-2)}&end=${at(20)}`)).body.items
  const { body } = await door.get<{ items: Calendar[] }>(`${path}/calendars`)
  return { ...account, events, list, initial, calendars: body.items.map(({ id }) => id) }
}

type Account = Awaited<ReturnType<typeof openAccount>>

interface Walk {
  ask(account: Account): Promise<{ status: number }>
  /** Whether the write can be sent again, and is then done once. */
  isRepeated: boolean
  /** Days by which it moves what takes place. */
  days?: number
  /** Subjects of what takes place once it is done, and once nothing is. */
  done: string[]
  notDone: string[]
}

const [DAILY, SPLIT] = [
  ['Daily', 'Daily', 'Daily', 'Odd', 'Daily'],
  ['Daily', 'Daily', 'Rest', 'Odd', 'Rest'],
]

const WALKS: Record<string, Walk> = {
  create: {
    ask: ({ id, events, calendars }) =>
      door.post<CalendarEventWithBody>(
        events,
        {
          calendarId: calendars[0],
          subject: 'New',
          start: { dateTime: at(6), timeZone: 'UTC' },
          end: { dateTime: at(7), timeZone: 'UTC' },
        },
        { 'idempotency-key': id },
      ),
    isRepeated: true,
    done: [...DAILY!, 'New'],
    notDone: DAILY!,
  },
  split: {
    ask: async ({ events, list }) =>
      door.patch(`${events}/${(await list())[2]!.id}?scope=following`, { subject: 'Rest' }),
    isRepeated: false,
    done: SPLIT!,
    notDone: DAILY!,
  },
  'move in time': {
    ask: async ({ events, list }) =>
      door.patch(`${events}/${(await list())[2]!.id}?scope=series`, {
        subject: 'Later',
        start: { dateTime: at(3), timeZone: 'UTC' },
      }),
    isRepeated: false,
    days: 1,
    done: ['Later', 'Later', 'Later', 'Odd', 'Later'],
    notDone: DAILY!,
  },
  move: {
    ask: async ({ events, list, calendars }) =>
      door.patch(`${events}/${(await list())[0]!.seriesId}`, { calendarId: calendars[1] }),
    isRepeated: false,
    done: DAILY!,
    notDone: DAILY!,
  },
  'delete an occurrence': {
    ask: async ({ events, list }) => door.delete(`${events}/${(await list())[1]!.id}`),
    isRepeated: false,
    done: DAILY!.toSpliced(1, 1),
    notDone: DAILY!,
  },
  'change an occurrence': {
    ask: async ({ events, list }) => door.patch(`${events}/${(await list())[1]!.id}`, { subject: 'Once' }),
    isRepeated: false,
    done: DAILY!.with(1, 'Once'),
    notDone: DAILY!,
  },
  'end a series': {
    ask: async ({ events, list }) => door.delete(`${events}/${(await list())[2]!.id}?scope=following`),
    isRepeated: false,
    done: DAILY!.slice(0, 2),
    notDone: DAILY!,
  },
  'delete a series': {
    ask: async ({ events, initial }) =>
      door.delete(`${events}/${initial.find(({ kind }) => kind === 'series')!.id}`),
    isRepeated: true,
    done: [],
    notDone: DAILY!,
  },
}

const CASES = Object.keys(WALKS).flatMap(name =>
  (['files', 'members'] as const).map(kind => [name, kind] as const),
)

test.each(CASES)(
  '%s of an event told as %s is done once or not at all, wherever it is killed',
  async (name, kind) => {
    const { ask, isRepeated, days = 0, done, notDone } = WALKS[name]!
    let isThrough = false
    for (let killedAt = 1; !isThrough; killedAt++) {
      expect(killedAt).toBeLessThan(CALLS_MAX)
      const account = await openAccount(kind)
      const { memory } = account
      const seriesId = account.initial.find(event => event.kind === 'series')!.id
      let calls = 0
      memory.onAwait = () => {
        if (++calls === killedAt) throw new Killed()
      }
      const { status } = await ask(account)
      isThrough = status === 200
      expect(isThrough).toBe(calls < killedAt)
      memory.onAwait = () => undefined
      // The sync may see the effect of the write before it may finish that.
      if (killedAt % 2 === 0) await account.pass()
      // As if the process had been away for a while.
      await sql`
      update calendar_intent set leased_until = leased_until - interval '2 minutes' where account_id = ${account.id}
    `.execute(door.db)
      await account.pass()
      if (isRepeated) expect([200, 404]).toContain((await ask(account)).status)
      await account.pass()
      await expectEqualIndex(door.db, account, account.initial)
      const items = await account.list()
      const subjects = items.map(({ subject }) => subject)
      expect(isRepeated || isThrough ? [done] : [done, notDone]).toContainEqual(subjects)
      if (items[0] && name !== 'delete an occurrence')
        expect(Date.parse(items[0].start.dateTime!)).toBe(
          Date.parse(at(isDeepStrictEqual(subjects, done) ? days : 0)),
        )
      if (name !== 'delete a series')
        expect((await readShown(door.db, account.id)).map(({ id }) => id)).toContain(seriesId)
      const { rows } = await sql`select from calendar_intent where account_id = ${account.id}`.execute(
        door.db,
      )
      expect(rows).toEqual([])
    }
  },
)

test.each(['files', 'members'] as const)(
  'a change whose process is killed after its move is finished as a whole (%s)',
  async kind => {
    const account = await openAccount(kind)
    const { memory, events, list, calendars, initial } = account
    memory.onAwait = call => {
      if (call === 'moveEvent done') throw new Killed()
    }
    const change = { calendarId: calendars[1], subject: 'Moved' }
    expect((await door.patch(`${events}/${(await list())[0]!.seriesId}`, change)).status).toBe(500)
    memory.onAwait = () => undefined
    await sql`update calendar_intent set leased_until = leased_until - interval '2 minutes'`.execute(door.db)
    await account.pass()
    const items = await list()
    expect(items.map(({ subject }) => subject)).toEqual(['Moved', 'Moved', 'Moved', 'Odd', 'Moved'])
    expect(new Set(items.map(({ calendarId }) => calendarId))).toEqual(new Set([calendars[1]]))
    await expectEqualIndex(door.db, account, initial)
  },
)

test('a write whose answer is lost is finished a minute later by the owner of the account', async () => {
  const account = await openAccount('files')
  account.memory.lostAnswers = 1
  expect(await WALKS['move']!.ask(account)).toMatchObject({ status: 502 })
  await account.pass()
  const count = async () =>
    (await sql`select from calendar_intent where account_id = ${account.id}`.execute(door.db)).rows.length
  expect(await count()).toBe(1)
  await sql`update calendar_intent set leased_until = leased_until - interval '2 minutes'`.execute(door.db)
  await account.pass()
  expect(await count()).toBe(0)
  expect(new Set((await account.list()).map(({ calendarId }) => calendarId))).toEqual(
    new Set([account.calendars[1]]),
  )
  await expectEqualIndex(door.db, account, account.initial)
})
