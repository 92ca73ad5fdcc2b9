import { Writable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { Killed } from '../../../../test/calendars/calendar-history.ts'
import {
  guest,
  type MailingAccount,
  type MailingDoor,
  openMailingDoor,
} from '../../../../test/calendars/mailing-door.ts'
import { openLog } from '../../../kit/log.ts'
import { ProviderFailure } from '../../../providers/failure.ts'

/** The lines that the follower has logged. */
const lines: Array<Record<string, unknown>> = []
const destination = new Writable({
  write: (chunk: Buffer, _, done) => {
    lines.push(JSON.parse(chunk.toString()) as Record<string, unknown>)
    done()
  },
})
let givenUp = 0
let door: MailingDoor
beforeAll(async () => {
  const log = openLog({ level: 'info', format: 'json', destination })
  door = await openMailingDoor({ log, onGivenUp: () => void givenUp++ })
})
afterAll(() => door?.[Symbol.asyncDispose]())
beforeEach(() => {
  lines.length = 0
  givenUp = 0
})

describe('if an interrupted write is finished after others have changed its event', () => {
  /** Another client changes the series while the answer to a write of ours is on its way, and is lost. */
  async function finishAfter(
    account: MailingAccount,
    ask: () => Promise<{ status: number }>,
    change: Parameters<MailingAccount['memory']['update']>[1],
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
    await door.endLeases(account.id)
    await account.pass()
    await door.expectNoIntent(account.id)
    return door.readQueued(account.id)
  }

  test('people get mails about its own change only', async () => {
    const account = await door.openMailingAccount()
    const { events, series, occurrence } = account
    const people = { attendees: [guest('bob'), guest('eve'), guest('kim')] }
    // Kim was invited by the other client.
    const own = await finishAfter(
      account,
      () => door.patch(`${events}/${series}`, { location: 'Bar' }),
      people,
    )
    expect(own).toEqual(['bob,eve,kim'])
    const one = await door.openMailingAccount()
    const patch = () => door.patch(`${one.events}/${one.occurrence}`, { location: 'Bar' })
    expect(occurrence).not.toBe(one.occurrence)
    expect(await finishAfter(one, patch, { subject: 'Theirs' })).toEqual(['bob,eve'])
  })

  test('nobody gets a mail about a change that was not begun, or that is gone again', async () => {
    const account = await door.openMailingAccount()
    const { events, series } = account
    const ask = () => door.patch(`${events}/${series}`, { location: 'Bar' })
    expect(await finishAfter(account, ask, { subject: 'Theirs' }, false)).toEqual([])
    const other = await door.openMailingAccount()
    const again = () => door.patch(`${other.events}/${other.series}`, { location: 'Bar' })
    expect(await finishAfter(other, again, { location: 'Theirs' })).toEqual([])
  })
})

test('mails of a write that cannot be finished are reported with its event', async () => {
  const account = await door.openMailingAccount()
  const { memory, events, series } = account
  memory.onAwait = call => {
    if (call === 'changeEvent done') throw new Killed()
  }
  expect((await door.patch(`${events}/${series}`, { location: 'Bar' })).status).toBe(500)
  memory.onAwait = call => {
    if (call === 'changeEvent')
      throw new ProviderFailure('forbidden', 'The calendar was shared to read only.')
  }
  await door.endLeases(account.id)
  door.dropped.length = 0
  await account.pass()
  expect(door.dropped).toMatchObject([{ accountId: account.id, eventId: series }])
  await door.expectNoIntent(account.id)
  expect(await door.readQueued(account.id)).toEqual([])
})

test('a move whose change is refused for good stands, and the change is logged with its event and counted', async () => {
  const account = await door.openMailingAccount()
  const { id: accountId, memory, events, series, calendars } = account
  memory.onAwait = call => {
    if (call === 'moveEvent done') throw new Killed()
  }
  const change = { calendarId: calendars[1]!.id, location: 'Bar' }
  expect((await door.patch(`${events}/${series}`, change)).status).toBe(500)
  memory.onAwait = call => {
    if (call === 'changeEvent') throw new ProviderFailure('rejected', 'The server wants no bars.')
  }
  await door.endLeases(accountId)
  await account.pass()
  await door.expectNoIntent(accountId)
  const { body } = await door.get(`${events}/${series}`)
  expect(body).toMatchObject({ calendarId: calendars[1]!.id, location: null })
  const message = 'An event was moved to another calendar, but its change was given up before it was made'
  expect(lines).toMatchObject([{ accountId, eventId: series, message }])
  expect(givenUp).toBe(1)
  expect(await door.readQueued(accountId)).toEqual([])
})
