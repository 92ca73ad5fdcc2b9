import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { useServer } from '../servers/shared-server.ts'
import { waitUntil } from '../wait-until.ts'
import { timeOf } from './arrange-google-calendar.ts'
import {
  connectGoogleCalendar,
  type GoogleCalendarAccount,
  openGoogleCalendarApp,
} from './google-calendar-account.ts'

// Calendars are looked at each minute, so within a test only pushes bring anything.
const opened = useServer(() => openGoogleCalendarApp())

const channelsOf = async (email: string) => {
  const path = '/calendar/channels'
  const { items } = await opened().sandbox.control<{
    items: Array<{ id: string; email: string; token: string; address: string }>
  }>('GET', path)
  return items.filter(one => one.email === email)
}

/** Connects a user, and waits for the look after their channel was opened. */
async function connectPushed(): Promise<GoogleCalendarAccount> {
  const account = await connectGoogleCalendar(opened())
  await account.look()
  await waitUntil('the channel', async () => (await channelsOf(account.email)).length === 1)
  await waitUntil('the look after it', async () => (await isWanted(account)) === false)
  return account
}

async function isWanted({ account: { id } }: GoogleCalendarAccount): Promise<boolean> {
  const { rows } = await sql<{ is: boolean }>`
    select cardinality(sync_wanted) > 0 as is from account_half where account_id = ${id} and kind = 'calendar'
  `.execute(opened().app.db)
  return rows[0]!.is
}

async function subjectsOf({ account }: GoogleCalendarAccount): Promise<Array<string | null>> {
  const range = new URLSearchParams({
    start: new Date().toISOString(),
    end: new Date(Date.now() + 60 * 86_400_000).toISOString(),
  })
  const path = `/v1/accounts/${account.id}/calendar-events?${range}`
  return (await opened().app.get<{ items: CalendarEvent[] }>(path)).body.items.map(({ subject }) => subject)
}

const inDays = (days: number) => {
  const date = new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10).replaceAll('-', '')
  return { start: timeOf(`${date}T090000`), end: timeOf(`${date}T100000`) }
}

const push = (headers: Record<string, string>) =>
  fetch(new URL('/push/google-calendar', opened().app.address), { method: 'POST', headers })

test('changes of events are pushed', async () => {
  const account = await connectPushed()
  const { id } = await account.client.insert({ summary: 'One', ...inDays(3) })
  await waitUntil('the event', async () => (await subjectsOf(account)).join() === 'One')
  await account.client.patch(id, { summary: 'Two' })
  await waitUntil('the change', async () => (await subjectsOf(account)).join() === 'Two')
  await account.client.remove(id)
  await waitUntil('the deletion', async () => (await subjectsOf(account)).length === 0)
})

test('a notice is believed only with the token of its channel', async () => {
  const account = await connectPushed()
  const [channel] = await channelsOf(account.email)
  const { id, token, address } = channel!
  expect(new URL(address).pathname).toBe('/push/google-calendar')
  const notice = (more: Record<string, string>) => ({
    'x-goog-channel-id': id,
    'x-goog-channel-token': token,
    'x-goog-resource-state': 'exists',
    ...more,
  })
  const forged = [
    notice({ 'x-goog-channel-token': token.replace(/^./, first => (first === 'A' ? 'B' : 'A')) }),
    notice({ 'x-goog-channel-token': '' }),
    notice({ 'x-goog-channel-id': randomUUID() }),
    notice({ 'x-goog-channel-id': "' or true --" }),
    {},
  ]
  const { sandbox, app } = opened()
  const looks = async () => {
    const { items } = await sandbox.calls({ user: account.email })
    return items.filter(({ path }) => path.startsWith('/calendar/')).length
  }
  for (const headers of forged) expect((await push(headers)).status).toBe(401)
  expect((await push(notice({ 'x-goog-resource-state': 'sync' }))).status).toBe(204)
  expect(await isWanted(account)).toBe(false)
  const before = await looks()
  expect((await push(notice({}))).status).toBe(204)
  await waitUntil('a look', async () => (await looks()) > before)
  await sql`update calendar_channel set expires_at = now() where id = ${id}`.execute(app.db)
  expect((await push(notice({}))).status).toBe(401)
})

test('channels are stopped with their account, as it is paused or deleted', async () => {
  const { app } = opened()
  const account = await connectPushed()
  const path = `/v1/accounts/${account.account.id}`
  expect((await app.patch(path, { status: 'paused' })).status).toBe(200)
  await waitUntil('none', async () => (await channelsOf(account.email)).length === 0)
  expect((await app.patch(path, { status: 'active' })).status).toBe(200)
  await account.look()
  await waitUntil('another one', async () => {
    await account.look()
    return (await channelsOf(account.email)).length === 1
  })
  expect((await app.delete(path)).status).toBe(200)
  await waitUntil('none', async () => (await channelsOf(account.email)).length === 0)
  const { rows } = await sql`select from calendar_channel where account_id = ${account.account.id}`.execute(
    app.db,
  )
  expect(rows).toEqual([])
})
