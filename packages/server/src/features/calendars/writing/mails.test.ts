import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { Killed, timesAt, TODAY } from '../../../../test/calendars/calendar-history.ts'
import { expectEqualIndex, readShown } from '../../../../test/calendars/equal-index.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { refuse } from '../../../calls/refuse.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'
import type { RemoteEvent } from '../../../providers/calendars.ts'
import type { WriteIntent } from './intents.ts'

/** Mails of a test are rows of one table, under the id of their write. */
const noted: WriteIntent[] = []
let canSend = true
const mails = {
  async requireSendable() {
    if (!canSend) refuse('provider_unsupported')
  },
  prepare: async ({ id: accountId }: { id: string }, { id, intent }: { id: string; intent: WriteIntent }) => {
    noted.push(intent)
    return async (unit: { sql: Parameters<typeof countMails>[0] }) => {
      await sql`insert into told (account_id, write_id) values (${accountId}, ${id})`.execute(unit.sql)
    }
  },
}

const opened = new AsyncDisposableStack()
let door: Awaited<ReturnType<typeof openCalendarDoor>>
beforeAll(async () => {
  const database = opened.use(await openTestDatabase())
  await sql`create table told (account_id uuid, write_id uuid)`.execute(database.db)
  door = opened.use(await openCalendarDoor(database, { mails }))
})
afterAll(() => opened.disposeAsync())

async function countMails(db: typeof door.db, accountId: string): Promise<number> {
  const { rows } = await sql`select from told where account_id = ${accountId}`.execute(db)
  return rows.length
}

const BEN = { name: null, address: 'ben@example.com', type: 'required', response: 'needs_action' } as const
const BOSS = { name: null, address: 'boss@example.com' }
const START = TODAY + 3 * DAY_MS
const hour = {
  start: { dateTime: new Date(START).toISOString() },
  end: { dateTime: new Date(START + 3_600_000).toISOString() },
}

/** An account whose calendar server informs nobody, with one event. */
async function openAccount(isInvited: boolean) {
  const account = await door.openAccount('files')
  const { memory } = account
  memory.tellsPeople = false
  const [calendar = ''] = memory.calendars.keys()
  const { email } = await door.db
    .selectFrom('account')
    .select('email')
    .where('id', '=', account.id)
    .executeTakeFirstOrThrow()
  const self = { name: null, address: email }
  const people: Partial<RemoteEvent> = isInvited
    ? { organizer: BOSS, attendees: [{ ...self, type: 'required', response: 'needs_action' }] }
    : { organizer: self, attendees: [BEN] }
  memory.add(calendar, { ...timesAt(START), ...people, subject: 'Old' })
  await account.pass()
  const initial = await readShown(door.db, account.id)
  const events = `${account.path}/calendar-events`
  const [first] = [...memory.items.values()]
  return { ...account, initial, events, event: `${events}/${initial[0]!.id}`, self, key: first!.key }
}

type Account = Awaited<ReturnType<typeof openAccount>>

interface MailedWrite {
  isInvited?: boolean
  ask(account: Account): Promise<{ status: number }>
  isDone(account: Account): boolean
}

const WRITES: Record<string, MailedWrite> = {
  creation: {
    ask: async ({ events, path }) => {
      const { items } = (await door.get<{ items: Array<{ id: string }> }>(`${path}/calendars`)).body
      const attendees = [{ address: BEN.address }]
      return door.post(events, { calendarId: items[0]!.id, subject: 'New', ...hour, attendees })
    },
    isDone: ({ memory }) => [...memory.items.values()].some(({ event }) => event?.subject === 'New'),
  },
  change: {
    ask: ({ event }) => door.patch(event, { subject: 'New' }),
    isDone: ({ memory, key }) => memory.items.get(key)?.event?.subject === 'New',
  },
  deletion: {
    ask: ({ event }) => door.delete(event),
    isDone: ({ memory, key }) => !memory.items.has(key),
  },
  response: {
    isInvited: true,
    ask: ({ event }) => door.post(`${event}/respond`, { response: 'accepted' }),
    isDone: ({ memory, key }) => memory.items.get(key)?.event?.attendees[0]?.response === 'accepted',
  },
}

test.each(Object.keys(WRITES))(
  'the mails of a %s are queued once if it is done, and not at all if not, wherever it is killed',
  async name => {
    const { isInvited = false, ask, isDone } = WRITES[name]!
    let isThrough = false
    for (let killedAt = 1; !isThrough; killedAt++) {
      const account = await openAccount(isInvited)
      const { memory } = account
      let calls = 0
      memory.onAwait = () => {
        if (++calls === killedAt) throw new Killed()
      }
      isThrough = (await ask(account)).status === 200
      memory.onAwait = () => undefined
      await sql`
        update calendar_intent set leased_until = leased_until - interval '2 minutes' where account_id = ${account.id}
      `.execute(door.db)
      await account.pass()
      await account.pass()
      if (isThrough) expect(isDone(account)).toBe(true)
      expect(await countMails(door.db, account.id)).toBe(isDone(account) ? 1 : 0)
      await expectEqualIndex(door.db, account, account.initial)
      const intents = await door.db.selectFrom('calendar_intent').selectAll().execute()
      expect(intents).toEqual([])
      expect(killedAt).toBeLessThan(10)
    }
  },
)

test('a write that nobody is told of is not noted, and one of which the mails cannot be sent is refused', async () => {
  const account = await openAccount(false)
  noted.length = 0
  expect((await door.patch(account.event, { reminderMinutes: 5 })).status).toBe(200)
  expect((await door.patch(account.event, { subject: 'Quiet', notify: false })).status).toBe(200)
  canSend = false
  const refused = await door.patch(account.event, { subject: 'Loud' })
  canSend = true
  expect(refused).toMatchObject({ status: 400, body: { code: 'provider_unsupported' } })
  expect(account.memory.items.get(account.key)?.event?.subject).toBe('Quiet')
  expect(await countMails(door.db, account.id)).toBe(0)
  expect(noted).toEqual([])
  expect((await door.patch(account.event, { subject: 'Loud' })).status).toBe(200)
  expect(noted).toMatchObject([
    { asked: { change: { subject: 'Loud' } }, mailed: { before: { event: { subject: 'Quiet' } } } },
  ])
})
