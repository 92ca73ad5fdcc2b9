import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { newId } from '../../../kit/ids.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'

type Door = Awaited<ReturnType<typeof openCalendarDoor>>
type Account = Awaited<ReturnType<Door['openAccount']>>

const opened = new AsyncDisposableStack()
let door: Door
beforeAll(async () => {
  door = opened.use(await openCalendarDoor(opened.use(await openTestDatabase())))
})
afterAll(() => opened.disposeAsync())

const TOMORROW = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS
const iso = (days: number, hours = 0) => new Date(TOMORROW + days * DAY_MS + hours * 3_600_000).toISOString()

async function anAccount(): Promise<Account> {
  const account = await door.openAccount('files')
  await account.pass()
  return account
}

describe('a question is refused', () => {
  const day = { start: iso(0), end: iso(1) }
  const window = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString()
  let account: Account
  beforeAll(async () => {
    account = await anAccount()
  })

  test.each([
    ['a reversed range', { start: iso(1), end: iso(0) }, 'invalid_range'],
    ['a range without length', { start: iso(1), end: iso(1) }, 'invalid_range'],
    ['a range over 62 days', { start: iso(0), end: iso(62, 0.001) }, 'invalid_range'],
    ['a range that begins before the window', { start: window(-90.01), end: window(-80) }, 'invalid_range'],
    ['a range that ends after the window', { start: window(360), end: window(365.01) }, 'invalid_range'],
    ['an unknown zone', { ...day, timeZone: 'Europe/Nowhere' }, 'invalid_time_zone'],
    ['a Windows zone', { ...day, timeZone: 'W. Europe Standard Time' }, 'invalid_time_zone'],
    [
      'hours that overlap',
      {
        ...day,
        timeZone: 'UTC',
        hours: {
          mon: [
            { start: '09:00', end: '12:00' },
            { start: '11:59', end: '13:00' },
          ],
        },
      },
      'invalid_working_hours',
    ],
    [
      'hours that are reversed',
      { ...day, timeZone: 'UTC', hours: { tue: [{ start: '12:00', end: '09:00' }] } },
      'invalid_working_hours',
    ],
    [
      'hours without length',
      { ...day, timeZone: 'UTC', hours: { sun: [{ start: '12:00', end: '12:00' }] } },
      'invalid_working_hours',
    ],
    ['no start', { end: iso(1) }, 'invalid_input'],
    ['hours without a zone', { ...day, hours: {} }, 'invalid_input'],
    [
      'hours that are no times',
      { ...day, timeZone: 'UTC', hours: { mon: [{ start: '9:00', end: '12:00' }] } },
      'invalid_input',
    ],
    [
      'a start at 24:00',
      { ...day, timeZone: 'UTC', hours: { mon: [{ start: '24:00', end: '24:00' }] } },
      'invalid_input',
    ],
    [
      'over 20 ranges a day',
      {
        ...day,
        timeZone: 'UTC',
        hours: { mon: Array.from({ length: 21 }, () => ({ start: '09:00', end: '10:00' })) },
      },
      'invalid_input',
    ],
    ['an unknown day', { ...day, timeZone: 'UTC', hours: { monday: [] } }, 'invalid_input'],
    ['a short slot', { ...day, durationMinutes: 4 }, 'invalid_input'],
    ['a long step', { ...day, stepMinutes: 1441 }, 'invalid_input'],
    ['a long buffer', { ...day, bufferAfterMinutes: 1441 }, 'invalid_input'],
    [
      '51 attendees',
      { ...day, attendees: Array.from({ length: 51 }, (_, n) => `a${n}@example.com`) },
      'invalid_input',
    ],
    ['an attendee without address', { ...day, attendees: ['grace'] }, 'invalid_input'],
    ['an unknown field', { ...day, subject: 'x' }, 'invalid_input'],
  ])('with %s', async (_, question, code) => {
    const one = await door.post(`${account.path}/availability/find`, question)
    expect(one).toMatchObject({ status: 400, body: { code } })
    const shared = await door.post('/v1/availability/find', { ...question, accountIds: [account.id] })
    expect(shared).toMatchObject({ status: 400, body: { code } })
  })

  const wrongHours = [{ start: '12:00', end: '09:00' }]
  const stranger = newId()
  test.each<[string, object]>([
    ['in timeZone', { timeZone: 'Europe/Nowhere' }],
    ['of mon, fri', { timeZone: 'UTC', hours: { mon: wrongHours, tue: [], fri: wrongHours } }],
    ['62 days', { end: iso(63) }],
    ['window of the index, from', { start: window(364), end: window(366) }],
    [stranger, { calendarIds: [stranger] }],
  ])('by a message that has “%s”', async (part, given) => {
    const path = `${account.path}/availability/find`
    const { body } = await door.post<{ message: string }>(path, { ...day, ...given })
    expect(body.message).toContain(part)
  })

  test('a range of 62 days is not', async () => {
    const range = { start: iso(0), end: iso(62) }
    expect(await door.post(`${account.path}/availability/find`, range)).toMatchObject({
      status: 200,
      body: { complete: true },
    })
  })

  test('of accounts that nobody has, of none, and of too many', async () => {
    const ids = (count: number) => Array.from({ length: count }, newId)
    const unknown = ids(2)
    expect(
      await door.post('/v1/availability/find', { ...day, accountIds: [account.id, ...unknown] }),
    ).toMatchObject({ status: 422, body: { code: 'unknown_account', data: { ids: unknown } } })
    for (const accountIds of [[], ids(51)])
      expect(await door.post('/v1/availability/find', { ...day, accountIds })).toMatchObject({
        status: 400,
        body: { code: 'invalid_input' },
      })
    expect(await door.post(`/v1/accounts/${newId()}/availability/find`, day)).toMatchObject({
      status: 404,
      body: { code: 'account_not_found' },
    })
  })

  test('for the state of its account', async () => {
    const off = await door.openAccount('files', { calendarEnabled: false })
    const paused = await anAccount()
    await sql`update account set status = 'paused' where id = ${paused.id}`.execute(door.db)
    for (const [{ path }, code] of [
      [off, 'calendar_disabled'],
      [paused, 'account_paused'],
    ] as const)
      expect(await door.post(`${path}/availability/find`, day)).toMatchObject({ status: 409, body: { code } })
  })

  test('by keys that are bound to accounts, for several of them', async () => {
    const bound = door.as(await door.door.createKey(['read'], { accountIds: [account.id] }))
    expect(await bound.post('/v1/availability/find', { ...day, accountIds: [account.id] })).toMatchObject({
      status: 403,
      body: { code: 'account_scope_forbidden' },
    })
    expect(await bound.post(`${account.path}/availability/find`, day)).toMatchObject({ status: 200 })
    const sender = door.as(await door.door.createKey(['send']))
    expect(await sender.post(`${account.path}/availability/find`, day)).toMatchObject({
      status: 403,
      body: { code: 'missing_scope' },
    })
  })
})
