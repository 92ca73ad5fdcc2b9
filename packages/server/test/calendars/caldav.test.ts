import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { CalendarEvent, CalendarEventWithBody } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { describe, expect, test } from 'vitest'
import { tablesWith } from '../database-text.ts'
import { startCyrusDav } from '../servers/cyrus-dav.ts'
import { davTestClient } from '../servers/dav-client.ts'
import { connectionWithDav } from '../servers/dav-connection.ts'
import type { DavTestServer } from '../servers/dav-test-server.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { BERLIN, calendarFile, eventText } from '../servers/event-text.ts'
import { startRadicale } from '../servers/radicale.ts'
import { startSabre } from '../servers/sabre.ts'
import { useServer } from '../servers/shared-server.ts'
import { startXandikos } from '../servers/xandikos.ts'
import { expectEqualCalendars } from '../sync/compare-now.ts'
import { openSyncApp } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { calendarFeedOf, inShort } from './calendar-feed.ts'
import { dayAhead, waitForCalendars, waitForSubjects } from './caldav-account.ts'
import { casesFor } from '../soak.ts'

const opened = useServer(() => openSyncApp())
const dovecot = useServer(startDovecot)

const ALL = [
  { name: 'Radicale', start: startRadicale },
  { name: 'Xandikos', start: () => startXandikos({ isForOne: true }) },
  { name: 'Cyrus', start: startCyrusDav },
  { name: 'sabre/dav', start: startSabre },
]
/** The conformance suite of the adapter runs on each of them. */
const SERVERS = casesFor(ALL, ({ name }) => name === 'Radicale' || name === 'Cyrus')

/** An event of half an hour at this wall clock in Berlin. */
function eventAt(uid: string, start: string, subject: string, lines: readonly string[] = []): string {
  return eventText(uid, [
    `DTSTART;TZID=Europe/Berlin:${start}`,
    'DURATION:PT30M',
    `SUMMARY:${subject}`,
    ...lines,
  ])
}

const fileOf = (...events: readonly string[]) => calendarFile([BERLIN, ...events])

/** A mailbox with a calendar, both with their users. */
async function arrange(server: DavTestServer) {
  const user = await dovecot().addUser()
  const davUser = await server.addUser()
  const client = davTestClient(server, davUser)
  const calendar = await client.makeCalendar('team')
  // Xandikos takes it only so.
  await client.setProps(calendar, '<D:displayname>Team</D:displayname>')
  const connection = connectionWithDav(dovecot(), user, { dav: server, davUser, half: 'calendarUrl' })
  return { davUser, client, calendar, connection }
}

async function connect(connection: Record<string, unknown>): Promise<Account> {
  const { status, body } = await opened().post<Account>('/v1/imap-accounts', connection)
  expect({ status, body }).toMatchObject({ status: 200 })
  return body
}

const look = (accountId: string) => opened().post(`/v1/accounts/${accountId}/sync`, { kinds: ['calendar'] })

describe.each(SERVERS)('calendars of an IMAP account with $name', ({ start }) => {
  const server = useServer(start)

  test('are read and followed, and each change is announced once', async () => {
    const { client, calendar, connection, davUser } = await arrange(server())
    const [one, two, three] = [dayAhead(1), dayAhead(2), dayAhead(3)]
    await client.put(
      `${calendar}single.ics`,
      fileOf(eventAt('single', `${one}T090000`, 'Single', ['LOCATION:Room 5', 'DESCRIPTION:Bring tea.'])),
    )
    await client.put(
      `${calendar}day.ics`,
      calendarFile([
        eventText('day', [`DTSTART;VALUE=DATE:${two}`, `DTEND;VALUE=DATE:${three}`, 'SUMMARY:Whole day']),
      ]),
    )
    const rule = [`RRULE:FREQ=DAILY;COUNT=4`, `EXDATE;TZID=Europe/Berlin:${dayAhead(11)}T100000`]
    const moved = eventText('series', [
      `RECURRENCE-ID;TZID=Europe/Berlin:${dayAhead(12)}T100000`,
      `DTSTART;TZID=Europe/Berlin:${dayAhead(12)}T150000`,
      'DURATION:PT1H',
      'SUMMARY:Moved',
    ])
    await client.put(
      `${calendar}series.ics`,
      fileOf(eventAt('series', `${dayAhead(10)}T100000`, 'Series', rule), moved),
    )

    const account = await connect(connection)
    const { id } = account
    expect(account).toMatchObject({
      settings: { contactsEnabled: false, calendarEnabled: true },
      calendarInitializedAt: null,
      imap: { dav: { contactsUrl: null, auth: 'password' } },
    })
    await waitForCalendars(opened(), id)
    const calendars = await opened().get<{ items: Calendar[] }>(`/v1/accounts/${id}/calendars`)
    const team = calendars.body.items.find(({ name }) => name === 'Team')!
    expect(team).toMatchObject({ access: 'owner', canEdit: true, isHidden: false })

    const first = await waitForSubjects(opened(), id, ['Single', 'Whole day', 'Series', 'Moved', 'Series'])
    expect(first.map(({ kind }) => kind)).toEqual([
      'single',
      'single',
      'occurrence',
      'exception',
      'occurrence',
    ])
    const [single, day, occurrence, exception] = first as [
      CalendarEvent,
      CalendarEvent,
      CalendarEvent,
      CalendarEvent,
    ]
    expect(single).toMatchObject({
      calendarId: team.id,
      location: 'Room 5',
      iCalUid: 'single',
      start: { timeZone: 'Europe/Berlin', date: null },
      isOrganizer: true,
    })
    expect(day).toMatchObject({ isAllDay: true, start: { dateTime: null }, end: { dateTime: null } })
    const read = async (eventId: string) =>
      (await opened().get<CalendarEventWithBody>(`/v1/accounts/${id}/calendar-events/${eventId}`)).body
    expect(await read(single.id)).toEqual({ ...single, body: { contentType: 'text', content: 'Bring tea.' } })
    const series = await read(occurrence.seriesId!)
    expect(series).toMatchObject({ kind: 'series', subject: 'Series', recurrenceTimeZone: 'Europe/Berlin' })
    expect(series.recurrence).toEqual(['RRULE:FREQ=DAILY;COUNT=4'])
    expect(series.cancelledStarts).toHaveLength(1)
    expect(exception.seriesId).toBe(series.id)
    expect(await read(exception.id)).toMatchObject({ kind: 'exception', subject: 'Moved' })
    await expectEqualCalendars(opened(), id)

    await client.put(`${calendar}new.ics`, fileOf(eventAt('new', `${dayAhead(4)}T090000`, 'New')))
    await look(id)
    const rest = ['Series', 'Moved', 'Series']
    await waitForSubjects(opened(), id, ['Single', 'Whole day', 'New', ...rest])
    await client.put(
      `${calendar}single.ics`,
      fileOf(eventAt('single', `${one}T110000`, 'Renamed', ['LOCATION:Room 5', 'DESCRIPTION:Bring cake.'])),
    )
    await look(id)
    const renamed = (await waitForSubjects(opened(), id, ['Renamed', 'Whole day', 'New', ...rest]))[0]!
    expect(renamed.id).toBe(single.id)
    await client.put(
      `${calendar}series.ics`,
      fileOf(eventAt('series', `${dayAhead(10)}T100000`, 'Series', [`RRULE:FREQ=DAILY;COUNT=2`])),
    )
    await look(id)
    const shorter = await waitForSubjects(opened(), id, ['Renamed', 'Whole day', 'New', 'Series', 'Series'])
    expect(shorter[3]!.id).toBe(occurrence.id)
    await client.remove(`${calendar}new.ics`)
    await look(id)
    await waitForSubjects(opened(), id, ['Renamed', 'Whole day', 'Series', 'Series'])
    await client.remove(`${calendar}series.ics`)
    await look(id)
    await waitForSubjects(opened(), id, ['Renamed', 'Whole day'])

    const feed = await calendarFeedOf(opened(), id)
    expect(feed[0]).toMatchObject({ calendars: calendars.body.items.length, events: 4 })
    expect(feed.map(inShort)).toEqual([
      'calendar.initialized',
      'calendar_event.created single New',
      'calendar_event.updated single Renamed end snippet start subject',
      'calendar_event.updated series Series cancelledStarts recurrence',
      'calendar_event.deleted exception Moved',
      'calendar_event.deleted single New',
      'calendar_event.deleted series Series',
    ])
    expect(feed[2]!.event).toEqual(renamed)
    expect(await tablesWith(opened().db, davUser.password)).toEqual([])
    expect(opened().logLines.join('')).not.toContain(davUser.password)
  })
})

describe('calendars of an IMAP account', () => {
  const radicale = useServer(startRadicale)

  test('leave the index when the server is removed, and come back under new ids', async () => {
    const { client, calendar, connection } = await arrange(radicale())
    await client.put(`${calendar}one.ics`, fileOf(eventAt('one', `${dayAhead(1)}T090000`, 'One')))
    const account = await connect(connection)
    const { id } = account
    await waitForCalendars(opened(), id)
    const [before] = await waitForSubjects(opened(), id, ['One'])
    const settings = `/v1/accounts/${id}/imap-settings`

    const removed = await opened().patch<Account>(settings, { dav: null })
    expect(removed).toMatchObject({
      status: 200,
      body: { imap: { dav: null }, settings: { calendarEnabled: false } },
    })
    expect(await opened().get(`/v1/accounts/${id}/calendars`)).toMatchObject({
      status: 409,
      body: { code: 'calendar_disabled' },
    })
    await waitUntil('the end of the half', async () => {
      const { body } = await opened().get<Account>(`/v1/accounts/${id}`)
      return body.calendarInitializedAt === null
    })

    const { dav } = connection
    expect(await opened().patch(settings, { dav })).toMatchObject({ status: 200 })
    await waitForCalendars(opened(), id)
    const [after] = await waitForSubjects(opened(), id, ['One'])
    expect(after!.id).not.toBe(before!.id)
    expect((await calendarFeedOf(opened(), id)).map(inShort)).toEqual([
      'calendar.initialized',
      'calendar.deleted Team',
      'calendar.initialized',
    ])
  })

  test('are announced as another client makes and renames them, and their events keep their ids when they move', async () => {
    const { client, calendar, connection } = await arrange(radicale())
    await client.put(`${calendar}one.ics`, fileOf(eventAt('one', `${dayAhead(1)}T090000`, 'One')))
    const { id } = await connect(connection)
    await waitForCalendars(opened(), id)
    const [before] = await waitForSubjects(opened(), id, ['One'])
    const path = await client.makeCalendar('more', { props: '<D:displayname>More</D:displayname>' })
    const feed = async () => (await calendarFeedOf(opened(), id)).map(inShort)
    const next = async (count: number) => {
      await look(id)
      await waitUntil(`${count} events`, async () => (await feed()).length >= count)
    }
    await next(2)
    await client.setProps(path, '<D:displayname>Others</D:displayname>')
    await next(3)
    // Its file stays as it is, and so does its version.
    await client.move(`${calendar}one.ics`, `${path}moved.ics`)
    await next(4)
    const [after] = await waitForSubjects(opened(), id, ['One'])
    expect(after).toMatchObject({ id: before!.id, subject: 'One' })
    expect(after!.calendarId).not.toBe(before!.calendarId)
    expect(await feed()).toEqual([
      'calendar.initialized',
      'calendar.created More',
      'calendar.updated Others name',
      'calendar_event.updated single One calendarId',
    ])
  })
})
