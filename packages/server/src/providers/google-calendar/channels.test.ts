import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  arrangeGoogleCalendar,
  type GoogleCalendarArrangement,
} from '../../../test/google-calendar/arrange-google-calendar.ts'
import { CALENDAR_HOST, configureCalendar } from '../../../test/google-calendar/other-client.ts'
import { startSandbox } from '../../../test/servers/sandbox.ts'
import { useServer } from '../../../test/servers/shared-server.ts'
import { never } from '../conformance/arrangement.ts'
import type { ChannelPlan, StoredChannel } from './channels.ts'

const sandbox = useServer(async () => {
  const server = await startSandbox()
  await configureCalendar(server, { quota: 'off' })
  return server
})

const DAY_MS = 24 * 3_600_000

/** A plan whose channels are stored in an array, with notices to an address where nobody listens. */
function openPlan() {
  const stored: StoredChannel[] = []
  const state = { isFollowed: true }
  const plan: ChannelPlan = {
    address: 'http://127.0.0.1:9/push/google-calendar',
    newChannel: () => ({ id: randomUUID(), token: 'a-token' }),
    read: async () => [...stored],
    async record({ token: _token, ...channel }) {
      if (!state.isFollowed) return false
      const at = stored.findIndex(({ calendarKey }) => calendarKey === channel.calendarKey)
      stored.splice(at === -1 ? stored.length : at, 1, { ...channel, leadsHere: true })
      return true
    },
    async forget(id) {
      stored.splice(
        stored.findIndex(one => one.id === id),
        1,
      )
    },
  }
  return { plan, stored, state }
}

/** The ids of the channels that Google has open for a user. */
async function openOf({ email }: GoogleCalendarArrangement): Promise<string[]> {
  const { items } = await sandbox().control<{ items: Array<{ id: string; email: string }> }>(
    'GET',
    '/calendar/channels',
  )
  return items
    .filter(one => one.email === email)
    .map(({ id }) => id)
    .toSorted()
}

const idsOf = (stored: readonly StoredChannel[]) => stored.map(({ id }) => id).toSorted()

test('each calendar has a channel, which is replaced at half of its life and stopped with its calendar', async () => {
  await using arranged = await arrangeGoogleCalendar(sandbox())
  const { id: other } = await arranged.client.addCalendar({ summary: 'Other' })
  const { plan, stored } = openPlan()
  const clock = { at: Date.now() }
  const { calendars } = await arranged.connect({ clock, channelPlan: plan })
  const keep = async () => {
    await calendars.listCalendars(never)
    await calendars.keepNotifying!(never)
    expect(await openOf(arranged)).toEqual(idsOf(stored))
    return idsOf(stored)
  }
  const first = await keep()
  expect(first).toHaveLength(2)
  clock.at += 3 * DAY_MS
  expect(await keep()).toEqual(first)
  clock.at += DAY_MS
  const second = await keep()
  expect(second.filter(id => first.includes(id))).toEqual([])
  await arranged.client.removeCalendar(other)
  expect(await keep()).toHaveLength(1)

  // Another process goes on with what is stored, unless it leads to a former address.
  const { calendars: later } = await arranged.connect({ clock, channelPlan: plan })
  await later.listCalendars(never)
  await later.keepNotifying!(never)
  expect(await openOf(arranged)).toEqual(idsOf(stored))
  const [kept] = stored
  stored.splice(0, 1, { ...kept!, leadsHere: false })
  const { calendars: moved } = await arranged.connect({ clock, channelPlan: plan })
  await moved.listCalendars(never)
  await moved.keepNotifying!(never)
  expect(idsOf(stored)).not.toEqual([kept!.id])
  expect(await openOf(arranged)).toEqual(idsOf(stored))
})

test('a calendar with a channel is asked about every 5 minutes only, unless somebody asked for the look', async () => {
  await using arranged = await arrangeGoogleCalendar(sandbox())
  const { email } = arranged
  const clock = { at: Date.now() }
  const { calendars } = await arranged.connect({ clock, channelPlan: openPlan().plan })
  const [calendar] = await calendars.listCalendars(never)
  await calendars.keepNotifying!(never)
  const cursor = { timeMin: 0, syncToken: null, pageToken: null }
  let end: object | null = cursor
  const window = { start: new Date(clock.at), end: new Date(clock.at + DAY_MS) }
  const from = { calendar: calendar!, window, cursor: null, known: async () => new Map(), signal: never }
  for await (const step of calendars.follow(from)) if (step.type === 'end') end = step.cursor
  const asked = async (mayDefer: boolean) => {
    const before = (await sandbox().calls({ user: email })).items.length
    await calendars.findChanged([{ calendar: calendar!, cursor: end as typeof cursor }], never, mayDefer)
    return (await sandbox().calls({ user: email })).items.length - before
  }
  let count = 0
  for (let minute = 0; minute < 20; minute += 1) {
    clock.at += 60_000
    count += await asked(true)
  }
  expect(count).toBe(4)
  expect(await asked(false)).toBe(1)
})

test('a channel that is refused leaves its calendar to polling, and others their channels', async () => {
  await using arranged = await arrangeGoogleCalendar(sandbox())
  await arranged.client.addCalendar({ summary: 'Holidays' })
  const { plan, stored } = openPlan()
  const clock = { at: Date.now() }
  const { calendars } = await arranged.connect({ clock, channelPlan: plan })
  await calendars.listCalendars(never)
  await sandbox().addFault({ does: 'error', status: 400, host: CALENDAR_HOST, path: '*/watch', count: 1 })
  await calendars.keepNotifying!(never)
  expect(stored).toHaveLength(1)
  await calendars.keepNotifying!(never)
  expect(stored).toHaveLength(1)
  clock.at += DAY_MS
  await calendars.keepNotifying!(never)
  expect(stored).toHaveLength(2)
})

test('a channel that was opened while its account was paused is stopped', async () => {
  await using arranged = await arrangeGoogleCalendar(sandbox())
  const { plan, state } = openPlan()
  state.isFollowed = false
  const { calendars } = await arranged.connect({ channelPlan: plan })
  await calendars.listCalendars(never)
  await calendars.keepNotifying!(never)
  expect(await openOf(arranged)).toEqual([])
})
