import { beforeEach, expect, test } from 'vitest'
import { type Event, hourOn, refusal, type TestClient, useCalendar } from './use-calendar.ts'

const used = useCalendar()
const { api } = used

const DAILY = { ...hourOn(1), summary: 'Stand-up', recurrence: ['RRULE:FREQ=DAILY;COUNT=5'] }
const SUMMER = { timeZone: 'Europe/Berlin' }

let email: string
let client: TestClient
beforeEach(async () => {
  ;[email] = await used.addUsers('ann')
  client = await used.client(email)
})

const starts = (items: readonly Event[] = []) => items.map(({ start }) => start?.dateTime ?? start?.date)
const ask = (query: object) => client.api.events.list({ calendarId: 'primary', ...query }, api.options)

test('lists everything page by page, and then only what has changed', async () => {
  const ids = ['first', 'other', 'third'].map(name => `aaaa${Buffer.from(name).toString('hex')}`)
  for (const id of ids) await client.insert({ ...hourOn(2), id, summary: id })
  const first = await client.sync({ maxResults: 2 })
  expect(first.items.map(({ id }) => id)).toEqual(ids)
  expect((await client.sync({ maxResults: 2, syncToken: first.syncToken })).items).toEqual([])
  await client.patch(ids[0] ?? '', { summary: 'Changed' })
  expect(await client.remove(ids[1] ?? '')).toBe(204)
  const news = await client.sync({ maxResults: 2, syncToken: first.syncToken })
  expect(news.items.map(({ id, status, summary }) => [id, status, summary])).toEqual([
    [ids[0], 'confirmed', 'Changed'],
    [ids[1], 'cancelled', undefined],
  ])
  expect((await client.sync({ maxResults: 2, syncToken: news.syncToken })).items).toEqual([])
})

test('loses nothing that changes between two pages', async () => {
  const { id } = await client.insert({ ...hourOn(1), summary: 'One' })
  await client.insert({ ...hourOn(2), summary: 'Two' })
  const page = await client.list({ maxResults: 1 })
  await client.patch(id ?? '', { summary: 'Changed' })
  const last = await client.sync({ maxResults: 1, pageToken: page.nextPageToken ?? '' })
  const news = await client.sync({ maxResults: 1, syncToken: last.syncToken })
  expect(news.items.map(({ summary }) => summary)).toEqual(['Changed'])
})

test('answers 410 fullSyncRequired to sync tokens that have expired', async () => {
  const { syncToken } = await client.sync()
  await api.box.ask('POST', '/calendar/expire', { user: 'ada@gmail.test' })
  expect((await ask({ syncToken })).status).toBe(200)
  await api.box.ask('POST', '/calendar/expire')
  expect(await refusal(ask({ syncToken }))).toEqual([410, 'fullSyncRequired'])
})

test.each([
  ['timeMin', { timeMin: '2026-12-01T00:00:00Z' }],
  ['updatedMin', { updatedMin: '2026-12-01T00:00:00Z' }],
  ['an order', { orderBy: 'updated' }],
  ['words', { q: 'lunch' }],
  ['no deleted events', { showDeleted: false }],
])('refuses a sync token together with %s', async (_, query) => {
  const { syncToken } = await client.sync()
  expect(await refusal(ask({ syncToken, ...query }))).toEqual([400, 'syncTokenWithRequestRestrictions'])
})

test('refuses a minimum time of change that lies too far back, and an empty range', async () => {
  expect(await refusal(ask({ updatedMin: '2020-01-01T00:00:00Z' }))).toEqual([410, 'updatedMinTooLongAgo'])
  const range = { timeMin: '2026-12-02T00:00:00Z', timeMax: '2026-12-01T00:00:00Z' }
  expect(await refusal(ask(range))).toEqual([400, 'timeRangeEmpty'])
})

test('lists a series as one, or its instances with exceptions in their places', async () => {
  const { id = '' } = await client.insert(DAILY)
  const names = [2, 3].map(day => `${id}_2026120${day}T080000Z`)
  await client.patch(names[0] ?? '', hourOn(2, 15))
  await client.remove(names[1] ?? '')
  const { items } = await client.sync()
  expect(items).toMatchObject([
    { id, recurrence: DAILY.recurrence },
    {
      id: names[0],
      recurringEventId: id,
      originalStartTime: { dateTime: '2026-12-02T09:00:00+01:00', ...SUMMER },
    },
    {},
  ])
  expect(items[2]).toEqual({
    kind: 'calendar#event',
    etag: expect.any(String),
    id: names[1],
    status: 'cancelled',
    recurringEventId: id,
    originalStartTime: { dateTime: '2026-12-03T09:00:00+01:00', ...SUMMER },
  })
  const single = await client.list({ singleEvents: true, orderBy: 'startTime' })
  expect(starts(single.items)).toEqual([
    '2026-12-01T09:00:00+01:00',
    '2026-12-02T15:00:00+01:00',
    '2026-12-04T09:00:00+01:00',
    '2026-12-05T09:00:00+01:00',
  ])
  const between = { timeMin: '2026-12-02T12:00:00Z', timeMax: '2026-12-05T08:00:00Z' }
  expect(starts((await client.list({ singleEvents: true, ...between })).items)).toEqual([
    '2026-12-02T15:00:00+01:00',
    '2026-12-04T09:00:00+01:00',
  ])
})

test('lists exceptions before their series if told so', async () => {
  const { id = '' } = await client.insert(DAILY)
  await client.patch(`${id}_20261202T080000Z`, { summary: 'Moved' })
  await client.patch(id ?? '', { location: 'Room 1' })
  api.google.calendars.configure({ exceptionsFirst: true })
  const { items } = await client.sync({ maxResults: 1 })
  expect(items.map(({ recurringEventId }) => recurringEventId)).toEqual([id, undefined])
})

test('filters series by their instances, and ends pages early if told so', async () => {
  await client.insert(DAILY)
  await client.insert({ ...hourOn(20), summary: 'Late' })
  const late = await client.list({ timeMin: '2026-12-05T10:00:00Z' })
  expect(late.items?.map(({ summary }) => summary)).toEqual(['Late'])
  api.google.calendars.configure({ pageMax: 1 })
  const page = await client.list()
  expect([page.items?.length, typeof page.nextPageToken]).toEqual([1, 'string'])
})

test('expands wall clocks: a series keeps its hour when the clocks change', async () => {
  const times = (day: number) => ({ dateTime: `2026-03-${day}T02:30:00`, timeZone: 'Europe/Berlin' })
  const { id: eventId = '' } = await client.insert({
    summary: 'Early',
    start: times(28),
    end: { dateTime: '2026-03-28T03:30:00', timeZone: 'Europe/Berlin' },
    recurrence: ['RRULE:FREQ=DAILY;COUNT=3'],
  })
  const instances = client.api.events.instances(
    { calendarId: 'primary', eventId: eventId ?? '' },
    api.options,
  )
  const { items } = await api.checked('events', instances as Promise<{ status: number; data: unknown }>)
  expect(starts(items)).toEqual([
    '2026-03-28T02:30:00+01:00',
    '2026-03-29T03:30:00+02:00',
    '2026-03-30T02:30:00+02:00',
  ])
})

test('finds an instance by its original start, wherever it was moved', async () => {
  const { id: eventId = '' } = await client.insert(DAILY)
  await client.patch(`${eventId}_20261202T080000Z`, hourOn(9))
  const find = (originalStart: string) =>
    client.api.events.instances({ calendarId: 'primary', eventId: eventId ?? '', originalStart }, api.options)
  const { items } = (await find('2026-12-02T09:00:00+01:00')).data as { items: Event[] }
  expect(starts(items)).toEqual(['2026-12-09T09:00:00+01:00'])
  expect(((await find('2026-12-02T10:00:00+01:00')).data as { items: Event[] }).items).toEqual([])
})

test.each([
  ['a weekly rule with UNTIL in UTC', ['RRULE:FREQ=WEEKLY;UNTIL=20261215T080000Z'], [1, 8, 15]],
  [
    'RDATE and EXDATE',
    ['RRULE:FREQ=DAILY;COUNT=3', 'EXDATE;TZID=Europe/Berlin:20261202T090000', 'RDATE:20261210T080000Z'],
    [1, 3, 10],
  ],
  ['a first day that the rule lacks', ['RRULE:FREQ=WEEKLY;BYDAY=FR;COUNT=2'], [1, 4, 11]],
])('expands %s', async (_, recurrence, days) => {
  await client.insert({ ...DAILY, recurrence })
  const { items } = await client.list({ singleEvents: true, orderBy: 'startTime' })
  expect(items?.map(({ start }) => Number(start?.dateTime?.slice(8, 10)))).toEqual(days)
})
