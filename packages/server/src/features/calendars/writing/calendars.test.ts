import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openCalendarDoor, readCalendarFeed } from '../../../../test/calendar-door.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { newId } from '../../../kit/ids.ts'

type Door = Awaited<ReturnType<typeof openCalendarDoor>>

const opened = new AsyncDisposableStack()
let door: Door
beforeAll(async () => {
  door = opened.use(await openCalendarDoor(opened.use(await openTestDatabase())))
})
afterAll(() => opened.disposeAsync())

async function openAccount() {
  const account = await door.openAccount('files')
  await account.pass()
  const path = `${account.path}/calendars`
  return {
    ...account,
    calendars: path,
    list: async () => (await door.get<{ items: Calendar[] }>(path)).body.items,
    feed: async () =>
      (await readCalendarFeed(door.db, account.id)).map(({ type, data }) =>
        [type, (data as { calendar?: Calendar }).calendar?.name, data.changes].filter(Boolean).join(' '),
      ),
  }
}

const TEAM = { name: 'Team', description: 'Ours\nalone', color: '#0B8043', timeZone: 'Europe/Berlin' }

test('a calendar is created once, changed and deleted, and a look changes nothing of that', async () => {
  const account = await openAccount()
  const headers = { 'idempotency-key': 'team' }
  const made = await door.post<Calendar>(account.calendars, TEAM, headers)
  expect(made).toMatchObject({
    status: 200,
    body: { ...TEAM, color: '#0b8043', access: 'owner', canEdit: true, isPrimary: false, isHidden: false },
  })
  expect((await door.post(account.calendars, TEAM, headers)).body).toEqual(made.body)
  const at = `${account.calendars}/${made.body.id}`
  expect(await door.patch(at, { name: 'Crew', description: null })).toMatchObject({
    status: 200,
    body: { id: made.body.id, name: 'Crew', description: null, timeZone: 'Europe/Berlin' },
  })
  expect(await door.patch(at, {})).toMatchObject({ status: 200, body: { name: 'Crew' } })
  await account.pass()
  expect((await account.list()).map(({ name }) => name)).toEqual(['first', 'Crew'])
  expect(await door.delete(at)).toMatchObject({ status: 200, body: null })
  expect((await account.list()).map(({ name }) => name)).toEqual(['first'])
  await account.pass()
  expect(await account.feed()).toEqual([
    'calendar.initialized',
    'calendar.created Team',
    'calendar.updated Crew name,description',
    'calendar.deleted Crew',
  ])
})

test('a calendar that ends takes its events along in silence, and comes back as another', async () => {
  const account = await openAccount()
  const { body } = await door.post<Calendar>(account.calendars, { name: 'Team' })
  const [, key = ''] = [...account.memory.calendars.keys()]
  const start = new Date(Date.now() + 86_400_000).toISOString()
  const end = new Date(Date.now() + 90_000_000).toISOString()
  const path = `${account.path}/calendar-events`
  const event = { calendarId: body.id, start: { dateTime: start }, end: { dateTime: end }, subject: 'Ours' }
  const { body: made } = await door.post<CalendarEvent>(path, event)
  expect(await door.delete(`${account.calendars}/${body.id}`)).toMatchObject({ status: 200 })
  const list = async () =>
    (await door.get<{ items: CalendarEvent[] }>(`${path}?start=${start}&end=${end}`)).body.items
  expect(await list()).toEqual([])
  expect(await door.get(`${path}/${made.id}`)).toMatchObject({ status: 404 })
  expect(await door.patch(`${path}/${made.id}`, {})).toMatchObject({ status: 404 })
  // Its server brings it back before its events have left the index.
  account.memory.calendars.set(key, {
    ...account.memory.calendars.get([...account.memory.calendars.keys()][0]!)!,
    key,
    name: 'Team',
    isPrimary: false,
  })
  account.memory.add(key, { subject: 'New' })
  await account.pass()
  const [, again] = await account.list()
  expect(again).toMatchObject({ name: 'Team' })
  expect(again!.id).not.toBe(body.id)
  const { rows } = await sql<{ subject: string }>`
    select shown ->> 'subject' as subject from calendar_event where account_id = ${account.id}
  `.execute(door.db)
  expect(rows).toEqual([{ subject: 'New' }])
  expect(await account.feed()).toEqual([
    'calendar.initialized',
    'calendar.created Team',
    'calendar_event.created',
    'calendar.deleted Team',
    'calendar.created Team',
    'calendar_event.created',
  ])
})

test('a list that is older than a write does not undo it', async () => {
  const account = await openAccount()
  const { body: old } = await door.post<Calendar>(account.calendars, { name: 'Old' })
  const { body: gone } = await door.post<Calendar>(account.calendars, { name: 'Gone' })
  let isWritten = false
  const { memory } = account
  const list = memory.connect().listCalendars
  const remotes = await list(new AbortController().signal)
  const connect = memory.connect.bind(memory)
  memory.connect = () => ({
    ...connect(),
    listCalendars: async () => {
      if (isWritten) return list(new AbortController().signal)
      isWritten = true
      memory.connect = connect
      await door.patch(`${account.calendars}/${old.id}`, { name: 'Newer' })
      await door.delete(`${account.calendars}/${gone.id}`)
      await door.post(account.calendars, { name: 'Added' })
      // Something differs, so that the list is recorded.
      return remotes.map(remote => (remote.name === 'first' ? { ...remote, color: '#123456' } : remote))
    },
  })
  await account.pass()
  expect((await account.list()).map(({ name }) => name)).toEqual(['first', 'Newer', 'Added'])
  await account.pass()
  expect((await account.list()).map(({ name }) => name)).toEqual(['first', 'Newer', 'Added'])
  expect(await account.feed()).toEqual([
    'calendar.initialized',
    'calendar.created Old',
    'calendar.created Gone',
    'calendar.updated Newer name',
    'calendar.deleted Gone',
    'calendar.created Added',
    'calendar.updated first color',
    'calendar.updated first color',
  ])
})

test.each<[string, number, string, object]>([
  ['no name', 400, 'invalid_input', {}],
  ['a blank name', 400, 'invalid_input', { name: ' ' }],
  ['a name of 101 characters', 400, 'invalid_input', { name: 'x'.repeat(101) }],
  ['a line break in a name', 400, 'invalid_input', { name: 'One\nTwo' }],
  ['a color that is none', 400, 'invalid_input', { name: 'Team', color: 'green' }],
  ['a long description', 400, 'invalid_input', { name: 'Team', description: 'x'.repeat(2_001) }],
  ['an unknown zone', 400, 'invalid_time_zone', { name: 'Team', timeZone: 'W. Europe Standard Time' }],
])('a new calendar is refused for %s', async (_, status, code, body) => {
  const account = await openAccount()
  expect(await door.post(account.calendars, body)).toMatchObject({ status, body: { code } })
  expect(account.memory.calendars.size).toBe(1)
})

test('calendars that are primary, that others own, and that are none, are not deleted', async () => {
  const account = await openAccount()
  account.memory.createCalendar('reader', { access: 'reader' })
  account.memory.createCalendar('writer', { access: 'writer' })
  await account.pass()
  const [primary, reader, writer] = await account.list()
  const remove = (id = '') => door.delete(`${account.calendars}/${id}`)
  expect(await remove(primary?.id)).toMatchObject({ status: 409, body: { code: 'calendar_primary' } })
  for (const id of [reader?.id, writer?.id])
    expect(await remove(id)).toMatchObject({ status: 403, body: { code: 'calendar_read_only' } })
  expect(await door.patch(`${account.calendars}/${reader?.id}`, { name: 'Mine' })).toMatchObject({
    status: 403,
    body: { code: 'calendar_read_only' },
  })
  for (const id of [newId(), 'nonsense'])
    expect(await remove(id)).toMatchObject({ status: 404, body: { code: 'calendar_not_found' } })
  expect(account.memory.calendars.size).toBe(3)
})
