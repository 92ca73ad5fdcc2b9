import type { CalendarEvent, CalendarEventWithBody } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { expect, test } from 'vitest'
import type { Cloud } from '../../src/providers/sign-in.ts'
import { readTakingPlace, waitForSubjects } from '../calendars/caldav-account.ts'
import { calendarFeedOf, inShort } from '../calendars/calendar-feed.ts'
import { useServer } from '../servers/shared-server.ts'
import { waitUntil } from '../wait-until.ts'
import { connectCalendars, dateOf } from './calendars-account.ts'
import { SANDBOX_APPS } from './delegates.ts'
import { openGraphApp } from './open-graph-app.ts'

const opened = useServer(() => openGraphApp({ config: SANDBOX_APPS }))

const timeOn = (days: number, clock: string) => ({
  dateTime: `${dateOf(days)}T${clock}:00`,
  timeZone: 'Europe/Berlin',
})
const times = (days: number, hour = 10) => ({
  start: timeOn(days, `${hour}:00`),
  end: timeOn(days, `${hour + 1}:00`),
})

/** A user of Microsoft whose calendar is written by the interface. */
async function open(cloud?: Cloud) {
  const { app } = opened()
  const account = await connectCalendars(opened(), undefined, cloud)
  const { id } = account
  const path = `/v1/accounts/${id}`
  const { body } = await app.get<{ items: Calendar[] }>(`${path}/calendars`)
  const calendarId = body.items[0]!.id
  const events = `${path}/calendar-events`
  const create = async (fields: object) => {
    const answer = await app.post<CalendarEventWithBody>(events, { calendarId, ...fields })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return answer.body
  }
  const change = (eventId: string, fields: object, query = '') =>
    app.patch<CalendarEventWithBody>(`${events}/${eventId}${query}`, fields)
  const news = async () => (await calendarFeedOf(app, id)).map(inShort).slice(1)
  const shown = () => readTakingPlace(app, id)
  return { ...account, app, path, events, calendarId, create, change, news, shown }
}

test.each(['global', 'china'] as const)('an event is written in the cloud %s', async cloud => {
  const { create, change, app, events, client, news, look } = await open(cloud)
  const made = await create({ ...times(3), subject: 'Talk', body: { content: 'Plans' }, reminderMinutes: 5 })
  expect(made).toMatchObject({ subject: 'Talk', kind: 'single', reminderMinutes: 5 })
  const [there] = await client.all('events')
  expect(there).toMatchObject({ subject: 'Talk', originalStartTimeZone: 'W. Europe Standard Time' })
  const { body } = await change(made.id, { start: timeOn(4, '09:00'), location: 'Room 4' })
  expect(body).toMatchObject({ id: made.id, location: 'Room 4', subject: 'Talk' })
  expect((await app.delete(`${events}/${made.id}`)).status).toBe(200)
  expect(await client.all('events')).toEqual([])
  await look()
  expect(await news()).toEqual([
    'calendar_event.created single Talk',
    expect.stringMatching(/^calendar_event.updated single Talk .*start/),
    'calendar_event.deleted single Talk',
  ])
})

test('a series is written: members, those that follow, and all of it', async () => {
  const { id: accountId, create, change, app, events, client, shown, look } = await open()
  const { id } = await create({ ...times(3), subject: 'Daily', recurrence: ['RRULE:FREQ=DAILY;COUNT=6'] })
  const listed = await shown()
  const [first, second, third, , fifth] = listed as [CalendarEvent, ...CalendarEvent[]]
  await change(second!.id, { subject: 'Once' })
  expect((await app.delete(`${events}/${fifth!.id}`)).status).toBe(200)
  expect((await shown()).map(({ subject }) => subject)).toEqual(['Daily', 'Once', 'Daily', 'Daily', 'Daily'])

  const split = await change(third!.id, { subject: 'Later', start: timeOn(5, '12:00') }, '?scope=following')
  expect(split.body).toMatchObject({ kind: 'series', subject: 'Later' })
  const moved = await change(first.id, { start: timeOn(3, '08:00') }, '?scope=series')
  expect(moved.body).toMatchObject({ id, kind: 'series' })
  const after = await shown()
  const hours = after.map(({ start }) => new Date(start.dateTime!).getTime())
  expect(after.map(({ subject }) => subject)).toEqual(['Daily', 'Once', 'Later', 'Later', 'Later'])
  // A later look finds what was written.
  await client.ask('POST', 'events', { subject: 'Other', ...times(30) })
  await look()
  await waitForSubjects(app, accountId, [...after.map(({ subject }) => subject), 'Other'])
  expect((await shown()).slice(0, 5).map(({ start }) => new Date(start.dateTime!).getTime())).toEqual(hours)
})

test('people are invited, and answer', async () => {
  const [eva, finn] = [await open(), await open()]
  const { id } = await eva.create({ ...times(3), subject: 'Plans', attendees: [{ address: finn.email }] })
  await finn.look()
  const [invited] = await waitForSubjects(finn.app, finn.id, ['Plans'])
  const path = `${finn.events}/${invited!.id}`
  const answer = await finn.app.post<CalendarEvent>(`${path}/respond`, {
    response: 'accepted',
    comment: 'Yes',
  })
  expect(answer.body).toMatchObject({ id: invited!.id, selfResponse: 'accepted' })
  await eva.look()
  await waitUntil('the answer', async () => {
    const [event] = await eva.shown()
    return event?.attendees[0]?.response === 'accepted'
  })
  const quiet = await eva.change(id, { subject: 'Quiet', notify: false })
  expect([quiet.status, quiet.body]).toMatchObject([400, { code: 'provider_unsupported' }])
  const refused = await finn.change(invited!.id, { subject: 'Mine' })
  expect(refused.body).toMatchObject({ code: 'provider_forbidden' })
  const declined = await finn.app.post<CalendarEvent>(`${path}/respond`, { response: 'declined' })
  expect(declined.body).toMatchObject({ id: invited!.id, selfResponse: 'declined' })
  expect(await finn.shown()).toEqual([])
})

test('an event that is moved to another calendar keeps its id', async () => {
  const { id: accountId, app, path, create, change, client } = await open()
  const calendar = await app.post<Calendar>(`${path}/calendars`, { name: 'Travel', color: '#00ff00' })
  expect(calendar.body).toMatchObject({ name: 'Travel', color: '#87d28e' })
  const { id } = await create({ ...times(3), subject: 'Flight', recurrence: ['RRULE:FREQ=WEEKLY;COUNT=2'] })
  const { body } = await change(id, { calendarId: calendar.body.id })
  expect(body).toMatchObject({ id, calendarId: calendar.body.id })
  expect((await client.all('events')).filter(({ subject }) => subject === 'Flight')).toEqual([])
  // A look between the two calls finds the copy as another event.
  const feed = await calendarFeedOf(app, accountId)
  expect(feed.filter(({ event }) => event?.id === id).map(inShort)).toEqual([
    'calendar_event.created series Flight',
    expect.stringMatching(/^calendar_event.updated series Flight calendarId/),
  ])
})
