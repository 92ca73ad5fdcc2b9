import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCalendarDoor, readCalendarFeed } from '../../../../test/calendar-door.ts'
import { timesAt, TODAY } from '../../../../test/calendars/calendar-history.ts'
import type { Answer } from '../../../../test/caller.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleGrant } from '../../../../test/sample-rows.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'
import { type FailureKind, ProviderFailure } from '../../../providers/failure.ts'

type Door = Awaited<ReturnType<typeof openCalendarDoor>>
type Account = Awaited<ReturnType<typeof openAccount>>

const opened = new AsyncDisposableStack()
let door: Door
beforeAll(async () => {
  door = opened.use(await openCalendarDoor(opened.use(await openTestDatabase())))
})
afterAll(() => opened.disposeAsync())

const NINE = 9 * 3_600_000
const at = (days: number) => new Date(TODAY + days * DAY_MS + NINE).toISOString()

/** An account with a series, an invitation, and a calendar that may be deleted. */
async function openAccount() {
  const account = await door.openAccount('files')
  const { id, memory, path } = account
  const [first = ''] = memory.calendars.keys()
  memory.createCalendar('spare')
  memory.add(first, { ...timesAt(TODAY + NINE), subject: 'Daily' }, { recurrence: ['RRULE:FREQ=DAILY'] })
  const organizer = { name: null, address: 'boss@example.com' }
  const attendees = [
    { name: null, address: `${id}@example.com`, type: 'required', response: 'needs_action' } as const,
  ]
  memory.add(first, { ...timesAt(TODAY + NINE), subject: 'Asked', organizer, attendees })
  await account.pass()
  const events = `${path}/calendar-events`
  const { body } = await door.get<{ items: CalendarEvent[] }>(`${events}?start=${at(0)}&end=${at(3)}`)
  const found = (subject: string, nth = 0) => body.items.filter(event => event.subject === subject)[nth]!
  const calendars = (await door.get<{ items: Calendar[] }>(`${path}/calendars`)).body.items
  const second = found('Daily', 1)
  const ids = { second: second.id, series: second.seriesId, asked: found('Asked').id }
  const one = { ...account, events, calendars, ...ids }
  const held = heldBy(one)
  const shown = await shownOf(one)
  return {
    ...one,
    /** Expects that the provider has what it had. */
    expectHeld: () => expect(heldBy(one)).toEqual(held),
    /** Expects that also of the index and the feed. */
    async expectSame() {
      expect(heldBy(one)).toEqual(held)
      expect(await shownOf(one)).toEqual(shown)
    },
  }
}

type OpenedAccount = Awaited<ReturnType<Door['openAccount']>>

const heldBy = ({ memory }: OpenedAccount) => structuredClone([[...memory.calendars], [...memory.items]])

const shownOf = async ({ id, path }: OpenedAccount) => [
  (await door.get(`${path}/calendars`)).body,
  (await door.get(`${path}/calendar-events?start=${at(0)}&end=${at(3)}`)).body,
  (await readCalendarFeed(door.db, id)).length,
]

async function countIntents({ id }: OpenedAccount): Promise<number> {
  const intents = door.db.selectFrom('calendar_intent').select('id').where('account_id', '=', id)
  return (await intents.execute()).length
}

/** Each operation that writes, with input that is right. */
const WRITES: Record<string, (account: Account) => Promise<Answer<object>>> = {
  'POST calendars': ({ path }) => door.post(`${path}/calendars`, { name: 'Team' }),
  'PATCH calendars': ({ path, calendars }) =>
    door.patch(`${path}/calendars/${calendars[0]!.id}`, { name: 'Mine' }),
  'DELETE calendars': ({ path, calendars }) => door.delete(`${path}/calendars/${calendars[1]!.id}`),
  'POST calendar-events': ({ events, calendars }) =>
    door.post(events, {
      calendarId: calendars[0]!.id,
      start: { dateTime: at(1) },
      end: { dateTime: at(2) },
    }),
  'PATCH calendar-events': ({ events, second }) => door.patch(`${events}/${second}`, { subject: 'Once' }),
  'PATCH calendar-events, following': ({ events, second }) =>
    door.patch(`${events}/${second}?scope=following`, { subject: 'Later' }),
  'PATCH calendar-events, calendarId': ({ events, series, calendars }) =>
    door.patch(`${events}/${series}`, { calendarId: calendars[1]!.id }),
  'DELETE calendar-events': ({ events, second }) => door.delete(`${events}/${second}`),
  'POST respond': ({ events, asked }) => door.post(`${events}/${asked}/respond`, { response: 'accepted' }),
}
const NAMES = Object.keys(WRITES)

/** Expects that writes are refused with a reason, and that the provider has what it had. */
async function expectRefused(account: Account, names: readonly string[], status: number, code: string) {
  for (const name of names) {
    const answer = await WRITES[name]!(account)
    expect([name, answer]).toMatchObject([name, { status, body: { code } }])
    account.expectHeld()
  }
}

describe('each write is refused, and writes nothing,', () => {
  test.each([
    ['paused', 'account_paused'],
    ['disabled', 'account_disabled'],
    ['reauth_required', 'account_reauth_required'],
  ])('while the account is %s', async (state, code) => {
    const account = await openAccount()
    await sql`update account set status = ${state} where id = ${account.id}`.execute(door.db)
    await expectRefused(account, NAMES, 409, code)
    await account.expectSame()
  })

  test('while the login to the calendars is refused', async () => {
    const account = await openAccount()
    await sql`
      update account_half set problem = 'dav_login_failed' where account_id = ${account.id} and kind = 'calendar'
    `.execute(door.db)
    await expectRefused(account, NAMES, 409, 'account_misconfigured')
    await account.expectSame()
  })

  test('while calendars are off', async () => {
    const account = await openAccount()
    await sql`
      update account set settings_override = '{"calendarEnabled": false}' where id = ${account.id}
    `.execute(door.db)
    await expectRefused(account, NAMES, 409, 'calendar_disabled')
  })

  test('if the grant of the account only reads', async () => {
    const account = await openAccount()
    const mailbox = { provider: 'gmail' as const, auth_method: 'oauth' as const, imap: null }
    await door.db.updateTable('account').set(mailbox).where('id', '=', account.id).execute()
    const scopes = ['gmail.modify', 'calendar.readonly'].map(
      name => `https://www.googleapis.com/auth/${name}`,
    )
    await sampleGrant(door.db, account.id, scopes)
    await expectRefused(account, NAMES, 400, 'scope_missing')
    await account.expectSame()
  })

  test.each<[FailureKind, number, string]>([
    ['forbidden', 403, 'provider_forbidden'],
    ['unsupported', 400, 'provider_unsupported'],
    ['rejected', 400, 'provider_rejected'],
    ['throttled', 429, 'provider_throttled'],
    ['conflict', 409, 'provider_conflict'],
    ['scope_missing', 400, 'scope_missing'],
    ['login_failed', 409, 'account_misconfigured'],
    ['unavailable', 502, 'provider_unavailable'],
  ])('if the provider answers that it is %s, also when the sync looks again', async (kind, status, code) => {
    const account = await openAccount()
    const { memory, pass } = account
    memory.onAwait = () => {
      throw new ProviderFailure(kind, 'No.', { isBeforeAcceptance: true, retryAfterSeconds: 7 })
    }
    await expectRefused(account, NAMES, status, code)
    const { headers } = await WRITES['POST calendars']!(account)
    expect(headers.get('retry-after')).toBe(code === 'account_misconfigured' ? null : '7')
    memory.onAwait = () => undefined
    await pass()
    await account.expectSame()
    expect(await countIntents(account)).toBe(0)
  })

  test('if the provider no longer has what it names, which the sync then finds', async () => {
    const account = await openAccount()
    const { memory, events, pass } = account
    for (const key of memory.items.keys()) memory.remove(key)
    const gone = { status: 404, body: { code: 'provider_not_found' } }
    const expectGone = async (name: string) =>
      expect([name, await WRITES[name]!(account)]).toMatchObject([name, gone])
    for (const name of ['PATCH calendar-events', 'PATCH calendar-events, following', 'POST respond'])
      await expectGone(name)
    await pass()
    expect((await door.get(`${events}?start=${at(0)}&end=${at(3)}`)).body).toMatchObject({ items: [] })
    for (const key of memory.calendars.keys()) memory.removeCalendar(key)
    for (const name of ['PATCH calendars', 'POST calendar-events']) await expectGone(name)
    expect([memory.calendars.size, memory.items.size]).toEqual([0, 0])
  })
})

test('an event is not moved if it cannot be changed as well', async () => {
  const account = await openAccount()
  const { events, series, calendars } = account
  const both = { calendarId: calendars[1]!.id, onlineMeeting: true }
  const refused = { status: 400, body: { code: 'provider_unsupported' } }
  expect(await door.patch(`${events}/${series}`, both)).toMatchObject(refused)
  await account.expectSame()
  expect(await countIntents(account)).toBe(0)
})
