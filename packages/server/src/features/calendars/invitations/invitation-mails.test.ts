import type { CalendarEventWithBody } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { Killed, timesAt, TODAY } from '../../../../test/calendars/calendar-history.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { accountKeys } from '../../../accounts/secrets.ts'
import { environmentKeyRing } from '../../../kit/key-ring.ts'
import { silentLog } from '../../../kit/log.ts'
import { openSlicedWork } from '../../../kit/sliced-work.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'
import type { RemoteAttendee } from '../../../providers/calendars.ts'
import { openLargeContents } from '../../sending/accepting/large-contents.ts'
import { openInvitationMails } from './invitation-mails.ts'

type Door = Awaited<ReturnType<typeof openCalendarDoor>>

/** Mails are queued, and nobody sends them. */
const SERVICES = {
  accountKeys: accountKeys(environmentKeyRing(Buffer.alloc(32, 1).toString('base64'))),
  largeContents: openLargeContents(),
  slicesOf: openSlicedWork(),
  reach: async () => {},
}

const opened = new AsyncDisposableStack()
let door: Door
beforeAll(async () => {
  const database = opened.use(await openTestDatabase())
  const { db } = database
  const days = { past: 90, ahead: 365 }
  const clock = { now: () => Date.now() }
  const mails = openInvitationMails({ db, days, clock, log: silentLog, invitations: SERVICES })
  door = opened.use(await openCalendarDoor(database, { mails }))
})
afterAll(() => opened.disposeAsync())

const NINE = 9 * 3_600_000
const at = (days: number) => new Date(TODAY + days * DAY_MS + NINE).toISOString()
/** More awaits than any write has. */
const AWAITS_MAX = 16

const SMTP = { host: 'smtp.example.com', port: 465, security: 'tls', user: 'ada' }

const guest = (name: string): RemoteAttendee => ({
  name: null,
  address: `${name}@example.com`,
  type: 'required',
  response: 'needs_action',
})
const address = (name: string) => ({ address: guest(name).address })

/** An account whose provider sends no invitations, with a series to which bob and eve are invited. */
async function openAccount() {
  const account = await door.openAccount('files')
  const { memory, path } = account
  const keyed = { id: account.id, tenant_id: door.door.tenantId }
  const dataKey = await door.db.transaction().execute(tx => SERVICES.accountKeys.createDataKey(tx, keyed))
  await sql`
    update account set data_key = ${dataKey}, imap = jsonb_set(imap, '{smtp}', ${JSON.stringify(SMTP)}::jsonb)
    where id = ${account.id}
  `.execute(door.db)
  memory.tellsPeople = false
  const [first = ''] = memory.calendars.keys()
  const organizer = { name: 'Ada', address: `${account.id}@example.com` }
  const fields = {
    ...timesAt(TODAY + NINE),
    subject: 'Daily',
    organizer,
    attendees: [guest('bob'), guest('eve')],
  }
  memory.add(first, fields, { recurrence: ['RRULE:FREQ=DAILY;COUNT=5'] })
  await account.pass()
  const events = `${path}/calendar-events`
  const { body } = await door.get<{ items: Array<{ id: string; seriesId: string }> }>(
    `${events}?start=${at(-1)}&end=${at(20)}`,
  )
  const calendars = (await door.get<{ items: Calendar[] }>(`${path}/calendars`)).body.items
  const [occurrence] = body.items.slice(2)
  return { ...account, events, occurrence: occurrence!.id, series: occurrence!.seriesId, calendars }
}

type Account = Awaited<ReturnType<typeof openAccount>>

/** The mails that were queued: recipients of each. */
async function readQueued(accountId: string): Promise<string[]> {
  const { rows } = await sql<{ to: Array<{ address: string }> }>`
    select "to" from outbox where account_id = ${accountId} and origin = 'invitation'
  `.execute(door.db)
  return rows.map(({ to }) => to.map(one => one.address.split('@')[0]).join(',')).toSorted()
}

const WALKS: Record<string, { ask: (account: Account) => Promise<{ status: number }>; mails: string[] }> = {
  create: {
    ask: ({ id, events, calendars }) =>
      door.post<CalendarEventWithBody>(
        events,
        {
          calendarId: calendars[0]!.id,
          subject: 'New',
          start: { dateTime: at(6), timeZone: 'UTC' },
          end: { dateTime: at(7), timeZone: 'UTC' },
          attendees: [address('bob'), address('kim')],
        },
        { 'idempotency-key': id },
      ),
    mails: ['bob,kim'],
  },
  'change of the people': {
    ask: ({ events, series }) =>
      door.patch(`${events}/${series}`, { attendees: [address('bob'), address('kim')] }),
    mails: ['eve', 'kim'],
  },
  split: {
    ask: ({ events, occurrence }) =>
      door.patch(`${events}/${occurrence}?scope=following`, { location: 'Bar' }),
    mails: ['bob,eve', 'bob,eve'],
  },
  'deletion of the series': {
    ask: ({ events, series }) => door.delete(`${events}/${series}`),
    mails: ['bob,eve'],
  },
}

test.each(Object.keys(WALKS))(
  'a %s that is killed anywhere mails each person once, or not at all',
  async name => {
    const { ask, mails } = WALKS[name]!
    let isThrough = false
    let mailed = 0
    for (let killedAt = 1; !isThrough; killedAt++) {
      expect(killedAt).toBeLessThan(AWAITS_MAX)
      const account = await openAccount()
      const { memory } = account
      let awaits = 0
      memory.onAwait = () => {
        if (++awaits === killedAt) throw new Killed()
      }
      const before = JSON.stringify([...memory.items.values()])
      isThrough = (await ask(account)).status === 200
      memory.onAwait = () => undefined
      // As if the process had been away for a while.
      await sql`
      update calendar_intent set leased_until = leased_until - interval '2 minutes' where account_id = ${account.id}
    `.execute(door.db)
      await account.pass()
      if (name === 'create') expect((await ask(account)).status).toBe(200)
      await account.pass()
      const isWritten = JSON.stringify([...memory.items.values()]) !== before
      expect(await readQueued(account.id)).toEqual(isWritten ? mails : [])
      if (isWritten) mailed++
      const { rows } = await sql`select from calendar_intent where account_id = ${account.id}`.execute(
        door.db,
      )
      expect(rows).toEqual([])
    }
    // Once killed behind the write, and once not at all.
    expect(mailed).toBeGreaterThan(1)
  },
)

describe('nothing is written', () => {
  const attendees = Array.from({ length: 150 }, (_, nth) => ({ address: `guest${nth}@example.com` }))
  const create = ({ events, calendars }: Account) =>
    door.post(events, {
      calendarId: calendars[0]!.id,
      start: { dateTime: at(6), timeZone: 'UTC' },
      end: { dateTime: at(7), timeZone: 'UTC' },
      attendees,
    })
  const change = ({ events, series }: Account) => door.patch(`${events}/${series}`, { attendees })

  async function expectRefused(account: Account, answer: { status: number; body: { code: string } }) {
    const state = () => JSON.stringify([...account.memory.items.values()])
    const before = state()
    for (const ask of [create, change]) expect(await ask(account)).toMatchObject(answer)
    expect(state()).toBe(before)
    expect(await readQueued(account.id)).toEqual([])
  }

  test('if the account has no SMTP server', async () => {
    const account = await openAccount()
    await sql`update account set imap = jsonb_set(imap, '{smtp}', 'null') where id = ${account.id}`.execute(
      door.db,
    )
    await expectRefused(account, { status: 400, body: { code: 'provider_unsupported' } })
  })

  test('if the payment of the tenant is overdue', async () => {
    const account = await openAccount()
    await setOverdue(true)
    await expectRefused(account, { status: 402, body: { code: 'billing_past_due' } })
    await setOverdue(false)
  })

  test('if the plan has fewer sends left than there are mails', async () => {
    const account = await openAccount()
    await door.door.limit({ sendsPerDay: 1 })
    await expectRefused(account, { status: 403, body: { code: 'plan_limit_sends' } })
  })

  const setOverdue = (isOverdue: boolean) =>
    sql`
      update tenant set past_due_at = case when ${isOverdue} then now() end where id = ${door.door.tenantId}
    `.execute(door.db)
})
