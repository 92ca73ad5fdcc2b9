import type { AccountAvailability } from '@waxwing/contract/calendars/availability.ts'
import type { CalendarEvent, CalendarEventWithBody } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { expect, test } from 'vitest'
import type { Cloud } from '../../src/providers/sign-in.ts'
import { readTakingPlace, waitForCalendars, waitForSubjects } from '../calendars/caldav-account.ts'
import { calendarFeedOf, inShort } from '../calendars/calendar-feed.ts'
import { useServer } from '../servers/shared-server.ts'
import { waitUntil } from '../wait-until.ts'
import { connectCalendars as connect, daily, dateOf, hourOn, timeOn } from './calendars-account.ts'
import {
  addOfficeUser,
  addShared,
  connectUser,
  OWN_SCOPES,
  SANDBOX_APPS,
  SHARED_SCOPES,
} from './delegates.ts'
import { type GraphClient, openGraphClient } from './graph-client.ts'
import { openGraphApp } from './open-graph-app.ts'

const opened = useServer(() => openGraphApp({ config: SANDBOX_APPS }))
const connectCalendars = (arrange?: (client: GraphClient) => Promise<unknown>, cloud?: Cloud) =>
  connect(opened(), arrange, cloud)

const instancesOf = (client: GraphClient, id: string) =>
  client.all(`events/${id}/instances?startDateTime=${dateOf(-2)}&endDateTime=${dateOf(60)}`)

test('attendees of the organization are asked when they are busy', async () => {
  const { app } = opened()
  const other = await connectCalendars(client => client.ask('POST', 'events', hourOn(3, 10, 'Secret')))
  const { id } = await connectCalendars()
  const at = (hour: number) => new Date(`${dateOf(3)}T${hour}:00:00Z`).toISOString()
  const asked = { start: at(10), end: at(12), attendees: [other.email, 'nobody@elsewhere.example'] }
  const found = await app.post<AccountAvailability>(`/v1/accounts/${id}/availability/find`, asked)
  expect(found).toMatchObject({
    status: 200,
    body: { busy: [], complete: false, unresolved: ['nobody@elsewhere.example'] },
  })
  const [attendee] = found.body.attendees
  expect(attendee).toMatchObject({ address: other.email, resolved: true })
  const busy = await app.post<AccountAvailability>(`/v1/accounts/${other.id}/availability/find`, {
    start: new Date(`${dateOf(3)}T00:00:00Z`).toISOString(),
    end: new Date(`${dateOf(4)}T00:00:00Z`).toISOString(),
    attendees: [other.email],
  })
  expect(busy.body.busy).toHaveLength(1)
  expect(busy.body.attendees[0]!.busy).toEqual(busy.body.busy)
})

test('calendars of Microsoft 365 are read, and each change is announced once', async () => {
  const { app } = opened()
  let series = ''
  const { id, email, client, look } = await connectCalendars(async other => {
    await other.ask('POST', 'events', {
      ...hourOn(1, 10, 'Single'),
      location: { displayName: 'Room 5' },
      body: { contentType: 'html', content: '<p>Bring <b>tea</b></p>' },
      attendees: [{ emailAddress: { name: 'A guest', address: 'guest@example.com' }, type: 'required' }],
      isOnlineMeeting: true,
    })
    await other.ask('POST', 'events', {
      subject: 'Whole day',
      isAllDay: true,
      start: timeOn(2),
      end: timeOn(3),
      showAs: 'free',
    })
    series = (await other.ask('POST', 'events', { ...hourOn(10, 10, 'Series'), recurrence: daily(10, 5) })).id
    const [, second, third] = await instancesOf(other, series)
    await other.ask('DELETE', `events/${second?.id}`)
    await other.ask('PATCH', `events/${third?.id}`, { subject: 'Moved' })
  })
  const { body } = await app.get<{ items: Calendar[] }>(`/v1/accounts/${id}/calendars`)
  expect(body.items).toMatchObject([
    { name: 'Calendar', isPrimary: true, access: 'owner', canEdit: true, owner: { address: email } },
  ])
  const subjects = ['Single', 'Whole day', 'Series', 'Moved', 'Series', 'Series']
  const events = await waitForSubjects(app, id, subjects)
  expect(events[0]).toMatchObject({
    location: 'Room 5',
    kind: 'single',
    start: { timeZone: 'Europe/Berlin' },
    organizer: { address: email },
    attendees: [{ address: 'guest@example.com', type: 'required', response: 'needs_action' }],
    onlineMeetingProvider: 'teams',
    onlineMeetingUrl: expect.stringMatching(/^https:\/\/teams\.microsoft\.com\//),
  })
  expect(events[1]).toMatchObject({ isAllDay: true, showAs: 'free' })
  const path = `/v1/accounts/${id}/calendar-events/${events[0]!.id}`
  const { body: whole } = await app.get<CalendarEventWithBody>(path)
  expect(whole.body).toMatchObject({ contentType: 'html', content: expect.stringContaining('<b>tea</b>') })

  const [first] = await instancesOf(client, series)
  await client.ask('PATCH', `events/${first?.id}`, { subject: 'Once' })
  await look()
  const later = await waitForSubjects(app, id, ['Single', 'Whole day', 'Once', ...subjects.slice(3)])
  // An occurrence that becomes an exception keeps its id.
  expect(later[2]?.id).toBe(events[2]?.id)
  await client.ask('DELETE', `events/${series}`)
  await look()
  await waitForSubjects(app, id, ['Single', 'Whole day'])
  const announced = (await calendarFeedOf(app, id)).map(inShort)
  expect(announced).toEqual([
    'calendar.initialized',
    'calendar_event.created exception Once',
    'calendar_event.deleted series Series',
  ])
})

test.each(['gcc-high', 'china'] as const)('calendars are followed in the cloud %s', async cloud => {
  const { app } = opened()
  const { id, client, look } = await connectCalendars(
    other => other.ask('POST', 'events', hourOn(1, 10, 'Talk')),
    cloud,
  )
  await waitForSubjects(app, id, ['Talk'])
  await client.ask('POST', 'events', hourOn(2, 10, 'Next'))
  await look()
  await waitForSubjects(app, id, ['Talk', 'Next'])
})

test('a change of an event is pushed', async () => {
  const { app, sandbox } = opened()
  const { id, email, client } = await connectCalendars()
  await waitUntil('the subscription', async () => {
    const { items } = await sandbox.control<{ items: { user: string; resource: string }[] }>(
      'GET',
      '/subscriptions',
    )
    return items.some(({ user, resource }) => user === email && resource.endsWith('/events'))
  })
  const { id: event } = await client.ask('POST', 'events', hourOn(1, 10, 'Talk'))
  await waitForSubjects(app, id, ['Talk'])
  await client.ask('PATCH', `events/${event}`, { subject: 'Renamed' })
  await waitForSubjects(app, id, ['Renamed'])
  await client.ask('DELETE', `events/${event}`)
  await waitForSubjects(app, id, [])
})

test('an event that another client moves to another calendar keeps its id', async () => {
  const { app, sandbox } = opened()
  const { id, email, client, look } = await connectCalendars(async other => {
    await other.ask('POST', 'calendars', { name: 'Travel' })
    await other.ask('POST', 'events', hourOn(1, 10, 'Flight'))
  })
  const [before] = await waitForSubjects(app, id, ['Flight'])
  const [event] = await client.all('events')
  await sandbox.control('POST', '/graph/calendar-moves', {
    user: email,
    event: event?.id,
    calendar: 'Travel',
  })
  await look()
  const [after] = await waitUntil('the move', async () => {
    const events = await readTakingPlace(app, id)
    return events[0]?.calendarId === before?.calendarId ? null : events
  })
  expect(after).toMatchObject({ id: before?.id, subject: 'Flight' })
  const news = (await calendarFeedOf(app, id)).map(inShort)
  expect(news).toEqual(['calendar.initialized', 'calendar_event.updated single Flight calendarId webLink'])
})

test('links that expired change nothing and announce nothing', async () => {
  const { app, sandbox } = opened()
  const { id, email, client, look } = await connectCalendars(other =>
    other.ask('POST', 'events', { ...hourOn(1, 10, 'Series'), recurrence: daily(1, 4) }),
  )
  const subjects = ['Series', 'Series', 'Series', 'Series']
  const before: CalendarEvent[] = await waitForSubjects(app, id, subjects)
  const announced = await calendarFeedOf(app, id)
  await sandbox.control('POST', '/history/expire', { user: email, at: 'delta' })
  await client.ask('POST', 'events', hourOn(20, 10, 'Later'))
  await look()
  await waitForSubjects(app, id, [...subjects, 'Later'])
  expect((await readTakingPlace(app, id)).slice(0, 4)).toEqual(before)
  const news = (await calendarFeedOf(app, id)).slice(announced.length).map(inShort)
  expect(news).toEqual(['calendar_event.created single Later'])
})

test('calendars of a shared mailbox are followed with the grant of its delegate', async () => {
  const { app, sandbox } = opened()
  const eva = await addOfficeUser(sandbox, { name: 'eva' })
  const desk = await addOfficeUser(sandbox, { name: 'desk', delegates: [eva] })
  const client = await openGraphClient(sandbox, desk)
  await client.ask('POST', 'events', { ...hourOn(1, 10, 'Series'), recurrence: daily(1, 2) })
  const delegate = await connectUser(app, sandbox, eva, {
    scopes: [...SHARED_SCOPES, 'Calendars.Read.Shared'],
  })
  const settings = { syncWindowDays: null, calendarEnabled: true }
  const { id } = await addShared(app, delegate.id, desk, { settings })
  await waitForCalendars(app, id)
  await waitForSubjects(app, id, ['Series', 'Series'])
  await client.ask('POST', 'events', hourOn(5, 10, 'Talk'))
  await app.post(`/v1/accounts/${id}/sync`, { kinds: ['calendar'] })
  await waitForSubjects(app, id, ['Series', 'Series', 'Talk'])
})

test('an account whose grant has no scope of calendars has none', async () => {
  const { app, sandbox } = opened()
  const email = await addOfficeUser(sandbox, { name: 'mail' })
  const { id, settings } = await connectUser(app, sandbox, email, { scopes: OWN_SCOPES })
  expect(settings).toMatchObject({ calendarEnabled: false })
  const { body } = await app.get<{ items: Calendar[] }>(`/v1/accounts/${id}/calendars`)
  expect(body.items ?? []).toEqual([])
})
