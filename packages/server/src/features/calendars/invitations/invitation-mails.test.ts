import type { CalendarEventWithBody } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { Killed, timesAt, TODAY } from '../../../../test/calendars/calendar-history.ts'
import { expectEqualIndex, readShown } from '../../../../test/calendars/equal-index.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { casesFor } from '../../../../test/soak.ts'
import { seedsFor } from '../../../../test/sync/disturbance.ts'
import { accountKeys } from '../../../accounts/secrets.ts'
import { environmentKeyRing } from '../../../kit/key-ring.ts'
import { openSlicedWork } from '../../../kit/sliced-work.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'
import type { RemoteAttendee } from '../../../providers/calendars.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { openLargeContents } from '../../sending/accepting/large-contents.ts'
import { openInvitationMails } from './invitation-mails.ts'

type Door = Awaited<ReturnType<typeof openCalendarDoor>>

/** The process is killed at this moment of a write. */
let kill: { countdown: number } | null = null
async function reach(): Promise<void> {
  if (kill && --kill.countdown === 0) throw new Killed()
}

const dropped: Array<{ eventId: string | null }> = []

/** Mails are queued, and nobody sends them. */
const SERVICES = {
  accountKeys: accountKeys(environmentKeyRing(Buffer.alloc(32, 1).toString('base64'))),
  largeContents: openLargeContents(),
  slicesOf: openSlicedWork(),
  reach,
  dropped: (of: { eventId: string | null }) => void dropped.push(of),
}

const opened = new AsyncDisposableStack()
let door: Door
beforeAll(async () => {
  const database = opened.use(await openTestDatabase())
  const { db } = database
  const days = { past: 90, ahead: 365 }
  const clock = { now: () => Date.now() }
  const mails = openInvitationMails({ db, days, clock, invitations: SERVICES })
  const prepare: typeof mails.prepare = async (...write) => {
    await reach()
    const queue = await mails.prepare(...write)
    return async unit => {
      await reach()
      await queue(unit)
      await reach()
    }
  }
  door = opened.use(await openCalendarDoor(database, { mails: { ...mails, prepare } }))
})
afterAll(() => opened.disposeAsync())

const NINE = 9 * 3_600_000
const at = (days: number) => new Date(TODAY + days * DAY_MS + NINE).toISOString()
/** At every other moment, the sync sees the effect of a killed write before it finishes that. */
const SEEDS = seedsFor(1).slice(0, 2)
/** More moments than any write has. */
const MOMENTS_MAX = 30

const SMTP = { host: 'smtp.example.com', port: 465, security: 'tls', user: 'ada' }

const guest = (name: string): RemoteAttendee => ({
  name: null,
  address: `${name}@example.com`,
  type: 'required',
  response: 'needs_action',
})
const address = (name: string) => ({ address: guest(name).address })

/**
 * An account whose provider sends no invitations, with a series to which bob and eve are invited, and an event to which its
 * own address is invited.
 */
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
  const guests = [{ ...guest('ada'), address: organizer.address }]
  const invited = { ...timesAt(TODAY + 9 * DAY_MS), organizer: guest('boss'), attendees: guests }
  memory.add(first, { ...invited, subject: 'Invitation' })
  memory.createCalendar('second')
  await account.pass()
  const events = `${path}/calendar-events`
  const { body } = await door.get<{ items: Array<{ id: string; seriesId: string }> }>(
    `${events}?start=${at(-1)}&end=${at(20)}`,
  )
  const calendars = (await door.get<{ items: Calendar[] }>(`${path}/calendars`)).body.items
  const [occurrence] = body.items.slice(2)
  const invitation = body.items.at(-1)!.id
  const initial = await readShown(door.db, account.id)
  return {
    ...account,
    initial,
    events,
    occurrence: occurrence!.id,
    series: occurrence!.seriesId,
    invitation,
    calendars,
  }
}

type Account = Awaited<ReturnType<typeof openAccount>>

/** The mails that were queued: recipients of each. */
async function readQueued(accountId: string): Promise<string[]> {
  const { rows } = await sql<{ to: Array<{ address: string }> }>`
    select "to" from outbox where account_id = ${accountId} and origin = 'invitation'
  `.execute(door.db)
  return rows.map(({ to }) => to.map(one => one.address.split('@')[0]).join(',')).toSorted()
}

interface Walk {
  ask: (account: Account) => Promise<{ status: number }>
  mails: string[]
  /** Whether the request can be sent again with its key. */
  isRepeated?: boolean
}

const WALKS: Record<string, Walk> = {
  creation: {
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
    isRepeated: true,
  },
  'change of the people': {
    ask: ({ events, series }) =>
      door.patch(`${events}/${series}`, { attendees: [address('bob'), address('kim')] }),
    mails: ['eve', 'kim'],
  },
  'change of one occurrence': {
    ask: ({ events, occurrence }) => door.patch(`${events}/${occurrence}`, { location: 'Bar' }),
    mails: ['bob,eve'],
  },
  'move in time and to another calendar': {
    ask: ({ events, series, calendars }) =>
      door.patch(`${events}/${series}`, {
        calendarId: calendars[1]!.id,
        start: { dateTime: at(1), timeZone: 'UTC' },
      }),
    mails: ['bob,eve'],
  },
  split: {
    ask: ({ events, occurrence }) =>
      door.patch(`${events}/${occurrence}?scope=following`, { location: 'Bar' }),
    mails: ['bob,eve', 'bob,eve'],
  },
  'deletion of one occurrence': {
    ask: ({ events, occurrence }) => door.delete(`${events}/${occurrence}`),
    mails: ['bob,eve'],
  },
  'deletion of the series': {
    ask: ({ events, series }) => door.delete(`${events}/${series}`),
    mails: ['bob,eve'],
  },
  reply: {
    ask: ({ id, events, invitation }) =>
      door.post(`${events}/${invitation}/respond`, { response: 'accepted' }, { 'idempotency-key': `r${id}` }),
    mails: ['boss'],
    isRepeated: true,
  },
  'deletion of an invitation': {
    ask: ({ events, invitation }) => door.delete(`${events}/${invitation}`),
    mails: ['boss'],
  },
}

/** As if the process had been away for a while. */
const endLeases = (accountId: string) =>
  sql`
    update calendar_intent set leased_until = leased_until - interval '2 minutes' where account_id = ${accountId}
  `.execute(door.db)

async function expectNoIntent(accountId: string): Promise<void> {
  const { rows } = await sql`select from calendar_intent where account_id = ${accountId}`.execute(door.db)
  expect(rows).toEqual([])
}

/** In CI, one that makes an event, one of two calls, and one of a guest. */
const WALKED = casesFor(Object.keys(WALKS), name => ['creation', 'split', 'reply'].includes(name))

test.each(SEEDS.flatMap(seed => WALKED.map(name => [name, seed] as const)))(
  'a %s that is killed anywhere mails each person once, or not at all (%i)',
  async (name, seed) => {
    const { ask, mails, isRepeated = false } = WALKS[name]!
    let isThrough = false
    let mailed = 0
    for (let killedAt = 1; !isThrough; killedAt++) {
      expect(killedAt).toBeLessThan(MOMENTS_MAX)
      const account = await openAccount()
      const { memory } = account
      memory.onAwait = reach
      const before = JSON.stringify([...memory.items.values()])
      kill = { countdown: killedAt }
      isThrough = (await ask(account)).status === 200
      kill = null
      // Before the lease of the write has ended, the sync may see its effect already.
      if ((killedAt + seed) % 2 === 0) {
        await account.pass()
        if (isRepeated) expect((await ask(account)).status).toBe(200)
      }
      await endLeases(account.id)
      await account.pass()
      if (isRepeated) expect((await ask(account)).status).toBe(200)
      await account.pass()
      const isWritten = JSON.stringify([...memory.items.values()]) !== before
      expect(await readQueued(account.id)).toEqual(isWritten ? mails : [])
      if (isWritten) mailed++
      await expectNoIntent(account.id)
      await expectEqualIndex(door.db, account, account.initial)
    }
    // Once killed behind the write, and once not at all.
    expect(mailed).toBeGreaterThan(1)
  },
)

describe('a request that is sent again after its answer was lost', () => {
  test.each(Object.keys(WALKS).filter(name => !/^(?:split|move)/.test(name)))(
    'mails each person of a %s once',
    async name => {
      const { ask, mails } = WALKS[name]!
      const account = await openAccount()
      account.memory.lostAnswers = 1
      expect((await ask(account)).status).toBe(502)
      // An occurrence that is gone cannot be deleted again.
      expect([200, 404]).toContain((await ask(account)).status)
      await endLeases(account.id)
      await account.pass()
      expect(await readQueued(account.id)).toEqual(mails)
      await expectNoIntent(account.id)
    },
  )

  test.each(['creation', 'reply', 'change of the people'])(
    'does not forget the mails of a %s if it does not get through itself',
    async name => {
      const { ask, mails } = WALKS[name]!
      const account = await openAccount()
      account.memory.lostAnswers = 1
      expect((await ask(account)).status).toBe(502)
      const failed: string[] = []
      account.memory.onAwait = (call = '') => {
        if (!/^(?:createEvent|changeEvent|respond)$/.test(call)) return
        failed.push(call)
        throw new ProviderFailure('unavailable', 'The server is away.', { isBeforeAcceptance: true })
      }
      expect((await ask(account)).status).toBe(502)
      expect(failed).toHaveLength(1)
      account.memory.onAwait = () => undefined
      await account.pass()
      await endLeases(account.id)
      await account.pass()
      expect(await readQueued(account.id)).toEqual(mails)
      await expectNoIntent(account.id)
    },
  )
})

describe('if an interrupted write is finished after others have changed its event', () => {
  /** Another client changes the series while the answer to a write of ours is on its way, and is lost. */
  async function finishAfter(
    account: Account,
    ask: () => Promise<{ status: number }>,
    change: Parameters<Account['memory']['update']>[1],
    isBegun = true,
  ) {
    const { memory } = account
    const series = [...memory.items.values()].find(({ recurrence }) => recurrence !== null)!
    memory.onAwait = call => {
      if (call !== (isBegun ? 'changeEvent done' : 'changeEvent')) return
      memory.update(series.key, change)
      throw new Killed()
    }
    expect((await ask()).status).toBe(500)
    memory.onAwait = () => undefined
    await account.pass()
    await endLeases(account.id)
    await account.pass()
    await expectNoIntent(account.id)
    return readQueued(account.id)
  }

  test('people get mails about its own change only', async () => {
    const account = await openAccount()
    const { events, series, occurrence } = account
    const people = { attendees: [guest('bob'), guest('eve'), guest('kim')] }
    // Kim was invited by the other client.
    const own = await finishAfter(
      account,
      () => door.patch(`${events}/${series}`, { location: 'Bar' }),
      people,
    )
    expect(own).toEqual(['bob,eve,kim'])
    const one = await openAccount()
    const patch = () => door.patch(`${one.events}/${one.occurrence}`, { location: 'Bar' })
    expect(occurrence).not.toBe(one.occurrence)
    expect(await finishAfter(one, patch, { subject: 'Theirs' })).toEqual(['bob,eve'])
  })

  test('nobody gets a mail about a change that was not begun, or that is gone again', async () => {
    const account = await openAccount()
    const { events, series } = account
    const ask = () => door.patch(`${events}/${series}`, { location: 'Bar' })
    expect(await finishAfter(account, ask, { subject: 'Theirs' }, false)).toEqual([])
    const other = await openAccount()
    const again = () => door.patch(`${other.events}/${other.series}`, { location: 'Bar' })
    expect(await finishAfter(other, again, { location: 'Theirs' })).toEqual([])
  })
})

test('mails of a write that cannot be finished are reported with its event', async () => {
  const account = await openAccount()
  const { memory, events, series } = account
  memory.onAwait = call => {
    if (call === 'changeEvent done') throw new Killed()
  }
  expect((await door.patch(`${events}/${series}`, { location: 'Bar' })).status).toBe(500)
  memory.onAwait = call => {
    if (call === 'changeEvent')
      throw new ProviderFailure('forbidden', 'The calendar was shared to read only.')
  }
  await endLeases(account.id)
  dropped.length = 0
  await account.pass()
  expect(dropped).toMatchObject([{ accountId: account.id, eventId: series }])
  await expectNoIntent(account.id)
  expect(await readQueued(account.id)).toEqual([])
})

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
