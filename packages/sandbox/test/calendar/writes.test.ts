import { beforeEach, expect, test } from 'vitest'
import { hourOn, refusal, type TestClient, useCalendar } from './use-calendar.ts'

const used = useCalendar()
const { api } = used
const calendarId = 'primary'

type Called = Promise<{ status: number; data: unknown }>

let email: string
let client: TestClient
beforeEach(async () => {
  ;[email] = await used.addUsers('ann')
  client = await used.client(email)
})

const insert = (requestBody: object) =>
  client.api.events.insert({ calendarId, requestBody }, api.options) as Called

test('creates an event under an id of the client, once', async () => {
  const id = 'c0ffee00c0ffee00c0ffee00c0ffee00'
  const event = await client.insert({ ...hourOn(1), id, summary: 'Lunch', description: '<b>Bring</b> forks' })
  expect(event).toMatchObject({
    id,
    iCalUID: `${id}@google.com`,
    status: 'confirmed',
    sequence: 0,
    eventType: 'default',
    organizer: { email, self: true },
    creator: { email, self: true },
    start: { dateTime: '2026-12-01T09:00:00+01:00', timeZone: 'Europe/Berlin' },
    reminders: { useDefault: true },
  })
  expect(await client.get(id)).toEqual(event)
  expect(await refusal(insert({ ...hourOn(1), id }))).toEqual([409, 'duplicate'])
  await client.remove(id)
  expect(await refusal(insert({ ...hourOn(1), id }))).toEqual([409, 'duplicate'])
})

test.each([
  ['no end', { start: hourOn(1).start }, 'required'],
  ['a day and an hour', { start: { date: '2026-12-01' }, end: hourOn(1).end }, 'timeRangeEmpty'],
  ['an end before its start', { start: hourOn(2).start, end: hourOn(1).end }, 'timeRangeEmpty'],
  [
    'a zone that nobody knows',
    { ...hourOn(1), start: { ...hourOn(1).start, timeZone: 'Mars/Base' } },
    'invalid',
  ],
  ['no zone', { ...hourOn(1), start: { dateTime: '2026-12-01T09:00:00' } }, 'required'],
  ['a rule that is none', { ...hourOn(1), recurrence: ['RRULE:FREQ=SOMETIMES'] }, 'invalid'],
  ['a line of something else', { ...hourOn(1), recurrence: ['DTSTART:20261201T090000Z'] }, 'invalid'],
  ['an id of other letters', { ...hourOn(1), id: 'UPPER-CASE' }, 'invalid'],
])('refuses an event with %s', async (_, event, reason) => {
  expect(await refusal(insert(event))).toEqual([400, reason])
  expect((await client.list()).items).toEqual([])
})

test('patches the fields that are given, and updates all', async () => {
  const { id } = await client.insert({ ...hourOn(1), summary: 'Lunch', location: 'Here', colorId: '3' })
  const eventId = id ?? ''
  const patched = await client.patch(eventId, { summary: 'Dinner', location: null })
  expect(patched).toMatchObject({ summary: 'Dinner', colorId: '3', sequence: 0 })
  expect(patched.location).toBeUndefined()
  const update = client.api.events.update({ calendarId, eventId, requestBody: hourOn(2) }, api.options)
  const updated = await api.checked('event', update as Called)
  expect([updated.summary, updated.colorId, updated.sequence]).toEqual([undefined, undefined, 1])
})

test('refuses a write that assumes another state', async () => {
  const { id, etag } = await client.insert({ ...hourOn(1), summary: 'Lunch' })
  const { etag: next } = await client.patch(id ?? '', { summary: 'Dinner' })
  const write = (match: string, method: string) =>
    api
      .token(email, ['https://www.googleapis.com/auth/calendar'])
      .then(token =>
        api.ask(
          token,
          method,
          `/calendar/v3/calendars/primary/events/${id}`,
          { summary: 'X' },
          { 'if-match': match },
        ),
      )
  for (const method of ['PATCH', 'DELETE'])
    expect(await refusal(write(etag ?? '', method))).toEqual([412, 'conditionNotMet'])
  expect((await client.get(id ?? '')).summary).toBe('Dinner')
  expect((await write(next ?? '', 'PATCH')).status).toBe(200)
  expect((await write('*', 'DELETE')).status).toBe(204)
  expect(await refusal(write('*', 'DELETE'))).toEqual([410, 'deleted'])
})

test('makes an exception of an instance that is written, and leaves it when the series is cut', async () => {
  const recurrence = ['RRULE:FREQ=DAILY;COUNT=5']
  const { id } = await client.insert({ ...hourOn(1), summary: 'Stand-up', recurrence })
  const name = `${id}_20261204T080000Z`
  const exception = await client.patch(name, { summary: 'Retro' })
  expect(exception).toMatchObject({ id: name, recurringEventId: id, summary: 'Retro' })
  await client.patch(id ?? '', { recurrence: ['RRULE:FREQ=DAILY;COUNT=2'] })
  const { items } = await client.list({ singleEvents: true, orderBy: 'startTime' })
  expect(items?.map(({ summary }) => summary)).toEqual(['Stand-up', 'Stand-up', 'Retro'])
  const missing = client.api.events.get({ calendarId, eventId: `${id}_20261203T080000Z` }, api.options)
  expect(await refusal(missing as Called)).toEqual([404, 'notFound'])
  await client.remove(id ?? '')
  expect((await client.list({ singleEvents: true })).items).toEqual([])
})

test('has whole days, whose end is the day after', async () => {
  const days = { start: { date: '2026-12-24' }, end: { date: '2026-12-27' } }
  const { id } = await client.insert({ ...days, recurrence: ['RRULE:FREQ=YEARLY'] })
  const { items } = await client.list({
    singleEvents: true,
    timeMin: '2027-12-26T00:00:00Z',
    timeMax: '2028-01-01T00:00:00Z',
  })
  expect(items).toMatchObject([
    { id: `${id}_20271224`, start: { date: '2027-12-24' }, end: { date: '2027-12-27' } },
  ])
  const asHour = client.api.events.patch(
    { calendarId, eventId: id ?? '', requestBody: hourOn(1) },
    api.options,
  )
  expect(await refusal(asHour as Called)).toEqual([400, 'invalid'])
})

test('makes a Meet conference, which is pending first', async () => {
  api.google.calendars.configure({ meetSeconds: 30 })
  const conferenceData = {
    createRequest: { requestId: 'one', conferenceSolutionKey: { type: 'hangoutsMeet' } },
  }
  const { id, conferenceData: pending } = await client.insert(
    { ...hourOn(1), conferenceData },
    { conferenceDataVersion: 1 },
  )
  const { syncToken } = await client.sync()
  expect(pending?.createRequest?.status?.statusCode).toBe('pending')
  expect((await client.get(id ?? '')).hangoutLink).toBeUndefined()
  await api.box.ask('POST', '/clock', { advanceSeconds: 31 })
  const { items } = await client.sync({ syncToken })
  expect(items[0]).toMatchObject({
    hangoutLink: expect.stringMatching(/^https:\/\/meet\.google\.com\/[a-z]{3}-[a-z]{4}-[a-z]{3}$/),
    conferenceData: {
      createRequest: { status: { statusCode: 'success' } },
      entryPoints: [{ entryPointType: 'video' }],
    },
  })
  const kept = await client.patch(id ?? '', { summary: 'Call', conferenceData: null })
  expect(kept.conferenceData?.conferenceId).toBeDefined()
  const removed = await client.patch(id ?? '', { conferenceData: null }, { conferenceDataVersion: 1 })
  expect([removed.conferenceData, removed.hangoutLink]).toEqual([undefined, undefined])
})

test('imports an event once for each UID, and moves events between calendars', async () => {
  const imported = {
    ...hourOn(1),
    iCalUID: 'x@example.test',
    organizer: { email: 'zoe@example.test' },
    summary: 'A',
  }
  const load = (event: object) =>
    api.checked('event', client.api.events.import({ calendarId, requestBody: event }, api.options) as Called)
  const first = await load(imported)
  const second = await load({ ...imported, summary: 'B' })
  expect([second.id, second.summary, second.organizer?.email]).toEqual([first.id, 'B', 'zoe@example.test'])
  const { data: other } = await client.api.calendars.insert({ requestBody: { summary: 'Work' } }, api.options)
  const { id } = await client.insert({ ...hourOn(2), summary: 'Lunch' })
  const { syncToken } = await client.sync()
  const destination = other.id ?? ''
  const moved = await api.checked(
    'event',
    client.api.events.move({ calendarId, eventId: id ?? '', destination }, api.options) as Called,
  )
  expect(moved).toMatchObject({ id, organizer: { email: destination, displayName: 'Work', self: true } })
  expect((await client.sync({ syncToken })).items).toMatchObject([{ id, status: 'cancelled' }])
  const there = await client.list({ calendarId: destination })
  expect(there.items?.map(({ summary }) => summary)).toEqual(['Lunch'])
})
