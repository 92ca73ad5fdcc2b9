import type { CalendarEvent, CalendarEventWithBody } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { expect, test } from 'vitest'
import { DAY_MS } from '../../src/kit/wall-clock.ts'
import { useServer } from '../servers/shared-server.ts'
import { waitUntil } from '../wait-until.ts'
import { connectGoogleCalendar, openGoogleCalendarApp } from './google-calendar-account.ts'

const opened = useServer(() => openGoogleCalendarApp())

const FIRST = Math.floor(Date.now() / DAY_MS) * DAY_MS + 10 * DAY_MS + 9 * 3_600_000
const time = (days: number, hours = 0) => ({
  dateTime: new Date(FIRST + days * DAY_MS + hours * 3_600_000).toISOString(),
  timeZone: 'UTC',
})
const RANGE = [new Date(FIRST - DAY_MS), new Date(FIRST + 30 * DAY_MS)].map(at => at.toISOString())

test('a series that the interface creates, splits and shortens is the same at Google and in the index', async () => {
  const { app } = opened()
  const { account, email, client, look } = await connectGoogleCalendar(opened())
  const path = `/v1/accounts/${account.id}`
  const { body: calendars } = await app.get<{ items: Calendar[] }>(`${path}/calendars`)
  const events = `${path}/calendar-events`
  const here = async () => {
    const { body } = await app.get<{ items: CalendarEvent[] }>(`${events}?start=${RANGE[0]}&end=${RANGE[1]}`)
    return body.items
  }
  const there = async () => {
    const items = await client.listInstances(email, RANGE[0]!, RANGE[1]!)
    return items.map(({ start, summary }) => `${new Date(start!.dateTime!).toISOString()} ${summary}`)
  }
  const inShort = (items: readonly CalendarEvent[]) =>
    items.map(({ start, subject }) => `${start.dateTime} ${subject}`)
  const expected = (...given: Array<[days: number, hours: number, subject: string]>) =>
    given.map(([days, hours, subject]) => `${time(days, hours).dateTime} ${subject}`)

  const created = await app.post<CalendarEventWithBody>(events, {
    calendarId: calendars.items[0]!.id,
    start: time(0),
    end: time(0, 1),
    subject: 'Daily',
    body: { content: 'a < b' },
    recurrence: ['RRULE:FREQ=DAILY;COUNT=5'],
    attendees: [{ address: 'gil@example.com' }],
  })
  expect(created).toMatchObject({ status: 200, body: { kind: 'series', body: { content: 'a < b' } } })
  const occurrences = await here()
  expect(inShort(occurrences)).toEqual(await there())
  const of = (days: number) => occurrences[days]!.id

  expect((await app.patch(`${events}/${of(4)}`, { subject: 'Once' })).status).toBe(200)
  expect((await app.delete(`${events}/${of(1)}`)).status).toBe(200)
  const split = await app.patch<CalendarEventWithBody>(`${events}/${of(2)}?scope=following`, {
    subject: 'Later',
    start: time(2, 3),
  })
  expect(split).toMatchObject({ status: 200, body: { kind: 'series', subject: 'Later' } })
  const after = expected([0, 0, 'Daily'], [2, 3, 'Later'], [3, 3, 'Later'], [4, 3, 'Once'])
  expect(await there()).toEqual(after)
  expect(inShort(await here())).toEqual(after)

  // A look at Google finds it as it was recorded.
  await look()
  await client.insert({ summary: 'Last', start: time(6), end: time(6, 1) })
  await waitUntil('the news', async () => (await here()).some(({ subject }) => subject === 'Last'))
  expect(inShort(await here())).toEqual([...after, ...expected([6, 0, 'Last'])])
  expect((await app.delete(`${events}/${split.body.id}`)).status).toBe(200)
  expect(inShort(await here())).toEqual(expected([0, 0, 'Daily'], [6, 0, 'Last']))
  expect(await there()).toEqual(inShort(await here()))
})
