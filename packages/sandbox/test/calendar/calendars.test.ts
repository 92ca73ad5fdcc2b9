import { beforeEach, expect, test } from 'vitest'
import { CALENDAR, hourOn, refusal, type TestClient, useCalendar } from './use-calendar.ts'

const used = useCalendar()
const { api } = used

type Called = Promise<{ status: number; data: unknown }>

let email: string
let other: string
let client: TestClient
beforeEach(async () => {
  ;[email, other] = await used.addUsers('ann', 'bob')
  client = await used.client(email)
})

const entries = (query: object = {}) =>
  api.checked('entries', client.api.calendarList.list(query, api.options) as Called)
const newCalendar = async (summary: string) => {
  const made = client.api.calendars.insert({ requestBody: { summary } }, api.options)
  return (await api.checked('calendar', made as Called)).id ?? ''
}
const share = (calendarId: string, role: string | null) =>
  api.box.ask('POST', '/calendar/shares', { calendarId, user: other, role })

test('lists calendars, and then only those that have changed, hidden and deleted ones among them', async () => {
  const work = await newCalendar('Work')
  const first = await entries()
  expect(first.items?.map(({ id, primary, accessRole }) => [id, primary, accessRole])).toEqual([
    [email, true, 'owner'],
    [work, undefined, 'owner'],
  ])
  const requestBody = { hidden: true, backgroundColor: '#123456', foregroundColor: '#ffffff' }
  const options = { calendarId: work, colorRgbFormat: true, requestBody }
  await api.checked('entry', client.api.calendarList.patch(options, api.options) as Called)
  expect((await entries()).items).toHaveLength(1)
  expect((await entries({ showHidden: true })).items).toHaveLength(2)
  const changed = await entries({ syncToken: first.nextSyncToken ?? '' })
  expect(changed.items).toMatchObject([{ id: work, hidden: true, backgroundColor: '#123456' }])
  expect((await client.api.calendars.delete({ calendarId: work }, api.options)).status).toBe(204)
  const gone = await entries({ syncToken: changed.nextSyncToken ?? '' })
  expect(gone.items).toMatchObject([{ id: work, deleted: true }])
  await api.box.ask('POST', '/calendar/expire', { user: email })
  const late = client.api.calendarList.list({ syncToken: gone.nextSyncToken ?? '' }, api.options)
  expect(await refusal(late as Called)).toEqual([410, 'fullSyncRequired'])
})

test('changes calendars, keeps the primary one, and clears no other', async () => {
  const work = await newCalendar('Work')
  const patch = client.api.calendars.patch(
    { calendarId: work, requestBody: { timeZone: 'Asia/Tokyo' } },
    api.options,
  )
  expect(await api.checked('calendar', patch as Called)).toMatchObject({
    summary: 'Work',
    timeZone: 'Asia/Tokyo',
  })
  const remove = client.api.calendars.delete({ calendarId: 'primary' }, api.options)
  expect((await refusal(remove as Called))[0]).toBe(400)
  expect((await client.api.calendars.clear({ calendarId: work }, api.options)).status).toBe(400)
  await client.insert({ ...hourOn(1), summary: 'Lunch' })
  expect((await client.api.calendars.clear({ calendarId: 'primary' }, api.options)).status).toBe(204)
  expect((await client.list()).items).toEqual([])
})

test('leaves a list and comes back to it', async () => {
  const work = await newCalendar('Work')
  expect((await client.api.calendarList.delete({ calendarId: work }, api.options)).status).toBe(204)
  const get = () => client.api.calendarList.get({ calendarId: work }, api.options) as Called
  expect(await refusal(get())).toEqual([404, 'notFound'])
  await api.checked(
    'entry',
    client.api.calendarList.insert({ requestBody: { id: work } }, api.options) as Called,
  )
  expect((await api.checked('entry', get())).summary).toBe('Work')
})

test('shows a shared calendar as far as the role goes', async () => {
  const { id } = await client.insert({ ...hourOn(1), summary: 'Lunch', visibility: 'private' })
  const guest = await used.client(other)
  const read = () => guest.api.events.get({ calendarId: email, eventId: id ?? '' }, api.options) as Called
  const write = () =>
    guest.api.events.patch(
      { calendarId: email, eventId: id ?? '', requestBody: { summary: 'X' } },
      api.options,
    ) as Called
  expect((await read()).status).toBe(404)
  for (const role of ['freeBusyReader', 'reader']) {
    await share(email, role)
    const event = await api.checked('event', read())
    expect([event.summary, event.visibility, typeof event.start?.dateTime]).toEqual([
      undefined,
      'private',
      'string',
    ])
    expect(await refusal(write())).toEqual([403, 'requiredAccessLevel'])
  }
  await share(email, 'writer')
  expect((await write()).status).toBe(200)
  await share(email, null)
  expect((await read()).status).toBe(404)
})

test('answers when calendars are busy, 50 of them at most', async () => {
  await client.insert({ ...hourOn(1, 9), recurrence: ['RRULE:FREQ=DAILY;COUNT=2'] })
  await client.insert(hourOn(1, 10))
  await client.insert({ ...hourOn(1, 15), transparency: 'transparent' })
  const items = [{ id: 'primary' }, { id: other }, ...Array.from({ length: 49 }, () => ({ id: email }))]
  const requestBody = { timeMin: '2026-12-01T00:00:00Z', timeMax: '2026-12-03T00:00:00Z', items }
  const { calendars } = await api.checked(
    'freeBusy',
    client.api.freebusy.query({ requestBody }, api.options) as Called,
  )
  expect(calendars?.['primary']?.busy).toEqual([
    { start: '2026-12-01T08:00:00Z', end: '2026-12-01T10:00:00Z' },
    { start: '2026-12-02T08:00:00Z', end: '2026-12-02T09:00:00Z' },
  ])
  expect(calendars?.[other]?.errors).toEqual([{ domain: 'global', reason: 'notFound' }])
  expect(calendars?.[email]?.errors).toEqual([{ domain: 'global', reason: 'tooManyCalendarsRequested' }])
})

test('answers the settings of the user, such as the zone', async () => {
  const zone = client.api.settings.get({ setting: 'timezone' }, api.options)
  expect((await api.checked('setting', zone as Called)).value).toBe('Europe/Berlin')
  const all = await api.checked('settings', client.api.settings.list({}, api.options) as Called)
  expect(all.items?.map(({ id }) => id)).toContain('locale')
  const unknown = client.api.settings.get({ setting: 'shoe-size' }, api.options)
  expect(await refusal(unknown as Called)).toEqual([404, 'notFound'])
})

test('counts the calls of a user, and refuses scopes, tokens and projects that do not reach it', async () => {
  api.google.calendars.configure({ quota: 'on', callsPerMinute: 2 })
  await entries()
  await entries()
  const ask = (one: TestClient) => one.api.calendarList.list({}, api.options) as Called
  expect(await refusal(ask(client))).toEqual([403, 'rateLimitExceeded'])
  api.google.calendars.configure({ quotaAnswer: 429 })
  expect(await refusal(ask(client))).toEqual([429, 'rateLimitExceeded'])
  await api.box.ask('POST', '/clock', { advanceSeconds: 61 })
  expect((await ask(await used.client(email))).status).toBe(200)
  const events = await used.client(email, [`${CALENDAR}.events.readonly`])
  expect(await refusal(ask(events))).toEqual([403, 'insufficientPermissions'])
  expect(await events.list()).toMatchObject({ accessRole: 'owner' })
  api.google.calendars.configure({ enabled: false, quota: 'off' })
  expect(await refusal(ask(client))).toEqual([403, 'accessNotConfigured'])
})

test('begins a user who has mail with a lively week', async () => {
  const ada = await used.client('ada@gmail.test')
  const { items } = await ada.sync()
  const standUp = items.find(({ recurrence }) => recurrence)
  expect(standUp?.summary).toBe('Stand-up')
  const exceptions = items.filter(({ recurringEventId }) => recurringEventId === standUp?.id)
  expect(exceptions.map(({ status }) => status)).toEqual(['confirmed', 'cancelled'])
  const summaries = items.map(({ summary }) => summary)
  expect(summaries).toEqual(expect.arrayContaining(['Holiday', 'Call with New York', 'Planning']))
  const planning = items.find(({ summary }) => summary === 'Planning')
  expect(planning?.attendees?.find(({ self }) => self)?.responseStatus).toBe('needsAction')
  expect(new Set(items.map(({ start }) => start?.timeZone))).toContain('America/New_York')
})
