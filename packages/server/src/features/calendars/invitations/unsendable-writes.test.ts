import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { timesAt, TODAY } from '../../../../test/calendars/calendar-history.ts'
import {
  at,
  guest,
  type MailingAccount,
  type MailingDoor,
  openMailingDoor,
} from '../../../../test/calendars/mailing-door.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'

let door: MailingDoor
beforeAll(async () => void (door = await openMailingDoor()))
afterAll(() => door?.[Symbol.asyncDispose]())

describe('nothing is written', () => {
  const attendees = Array.from({ length: 150 }, (_, nth) => ({ address: `guest${nth}@example.com` }))
  const create = ({ events, calendars }: MailingAccount) =>
    door.post(events, {
      calendarId: calendars[0]!.id,
      start: { dateTime: at(6), timeZone: 'UTC' },
      end: { dateTime: at(7), timeZone: 'UTC' },
      attendees,
    })
  const change = ({ events, series }: MailingAccount) => door.patch(`${events}/${series}`, { attendees })

  async function expectRefused(
    account: MailingAccount,
    answer: { status: number; body: { code: string } },
    asks = [create, change],
  ) {
    const state = () => JSON.stringify([...account.memory.items.values()])
    const before = state()
    for (const ask of asks) expect(await ask(account)).toMatchObject(answer)
    expect(state()).toBe(before)
    expect(await door.readQueued(account.id)).toEqual([])
  }

  test('if the account has no SMTP server', async () => {
    const account = await door.openMailingAccount()
    await sql`update account set imap = jsonb_set(imap, '{smtp}', 'null') where id = ${account.id}`.execute(
      door.db,
    )
    await expectRefused(account, { status: 400, body: { code: 'provider_unsupported' } })
  })

  test('if the event is too large to be kept until its mails are made', async () => {
    const account = await door.openMailingAccount()
    const { id: accountId, memory, organizer, events, series } = account
    const held = [...memory.items.values()].find(({ recurrence }) => recurrence !== null)!
    memory.update(held.key, {}, ['RRULE:FREQ=DAILY;COUNT=20'])
    const people = Array.from({ length: 500 }, (_, nth) => ({
      ...guest(`guest${nth}`),
      name: '🐦'.repeat(255),
    }))
    for (let day = 1; day < 20; day++) {
      const times = timesAt(TODAY + day * DAY_MS + 9 * 3_600_000)
      memory.setMember(held.key, times.start.wall, {
        ...held.event!,
        ...times,
        organizer,
        attendees: people,
      })
    }
    await account.pass()
    const move = () => door.patch(`${events}/${series}`, { location: 'Bar' })
    const remove = () => door.delete(`${events}/${series}`)
    await expectRefused(account, { status: 400, body: { code: 'provider_unsupported' } }, [move, remove])
    await door.expectNoIntent(accountId)
    expect((await door.delete(`${events}/${series}?notify=false`)).status).toBe(200)
  })

  test('if the payment of the tenant is overdue', async () => {
    const account = await door.openMailingAccount()
    await setOverdue(true)
    await expectRefused(account, { status: 402, body: { code: 'billing_past_due' } })
    await setOverdue(false)
  })

  test('if the plan has fewer sends left than there are mails', async () => {
    const account = await door.openMailingAccount()
    await door.door.limit({ sendsPerDay: 1 })
    await expectRefused(account, { status: 403, body: { code: 'plan_limit_sends' } })
  })

  const setOverdue = (isOverdue: boolean) =>
    sql`
      update tenant set past_due_at = case when ${isOverdue} then now() end where id = ${door.door.tenantId}
    `.execute(door.db)
})
