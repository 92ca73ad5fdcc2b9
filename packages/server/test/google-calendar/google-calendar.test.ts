import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import type { AccountAvailability } from '@waxwing/contract/calendars/availability.ts'
import type { CalendarEvent, CalendarEventWithBody } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { dayAhead, readTakingPlace, waitForCalendars, waitForSubjects } from '../calendars/caldav-account.ts'
import { calendarFeedOf, inShort } from '../calendars/calendar-feed.ts'
import { letter } from '../gmail/open-gmail-app.ts'
import { useServer } from '../servers/shared-server.ts'
import { expectEqualCalendars } from '../sync/compare-now.ts'
import { readMessages, waitForFirstSync } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { timeOf } from './arrange-google-calendar.ts'
import {
  addUser,
  connectUser,
  connectGoogleCalendar,
  openGoogleCalendarApp,
  signInAgain,
} from './google-calendar-account.ts'
import {
  CALENDAR_HOST,
  CALENDAR_SCOPE,
  configureCalendar,
  type Event,
  type OtherClient,
} from './other-client.ts'

const opened = useServer(() => openGoogleCalendarApp())

/** An hour in Berlin, some days ahead. */
const hourOn = (days: number, hour: number, summary: string): Event => ({
  summary,
  start: timeOf(`${dayAhead(days)}T${hour}0000`),
  end: timeOf(`${dayAhead(days)}T${hour + 1}0000`),
})

const feed = async (accountId: string) => (await calendarFeedOf(opened().app, accountId)).map(inShort)

describe('calendars of a Gmail account', () => {
  test('show when they are busy, and Google is asked about attendees', async () => {
    const { app } = opened()
    const { account, email } = await connectGoogleCalendar(opened(), other =>
      other.insert(hourOn(3, 10, 'Single')),
    )
    const at = (days: number) =>
      new Date(Math.floor(Date.now() / 86_400_000 + days) * 86_400_000).toISOString()
    const { status, body } = await app.post<AccountAvailability>(
      `/v1/accounts/${account.id}/availability/find`,
      { start: at(3), end: at(4), attendees: [email, 'nobody@elsewhere.example'] },
    )
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { complete: false, unresolved: ['nobody@elsewhere.example'] },
    })
    expect(body.busy).toHaveLength(1)
    expect(body.attendees[0]).toEqual({ address: email, busy: body.busy, resolved: true })
  })

  test('are read and followed, and each change is announced once', async () => {
    const { app } = opened()
    let series: Event = {}
    const memberOf = (client: OtherClient, days: number) =>
      client.instance(series.id!, `${dayAhead(days).replace(/^(....)(..)(..)$/, '$1-$2-$3')}T10:00:00Z`)
    const { account, client, look, email } = await connectGoogleCalendar(opened(), async other => {
      await other.insert({
        ...hourOn(1, 10, 'Single'),
        location: 'Room 5',
        description: '<p>Bring <b>tea</b></p>',
        attendees: [{ email: 'guest@example.com', displayName: 'A guest' }],
        conferenceData: {
          createRequest: { requestId: 'one', conferenceSolutionKey: { type: 'hangoutsMeet' } },
        },
      })
      const [two, three] = [timeOf(dayAhead(2)), timeOf(dayAhead(3))]
      await other.insert({ summary: 'Whole day', start: two, end: three, transparency: 'transparent' })
      const start = {
        dateTime: `${dayAhead(10)}T100000`.replace(/^(....)(..)(..)T.*$/, '$1-$2-$3T10:00:00'),
        timeZone: 'UTC',
      }
      series = await other.insert({
        summary: 'Series',
        start,
        end: { ...start, dateTime: start.dateTime.replace('T10', 'T11') },
        recurrence: ['RRULE:FREQ=DAILY;COUNT=5', `EXDATE:${dayAhead(13)}T100000Z`],
      })
      await other.remove((await memberOf(other, 11)).id)
      await other.patch((await memberOf(other, 12)).id, { summary: 'Moved' })
    })
    const { id } = account
    expect(account).toMatchObject({ provider: 'gmail', settings: { calendarEnabled: true } })
    const { body } = await app.get<{ items: Calendar[] }>(`/v1/accounts/${id}/calendars`)
    expect(body.items).toMatchObject([
      {
        name: email,
        isPrimary: true,
        access: 'owner',
        canEdit: true,
        timeZone: 'Europe/Berlin',
        owner: { address: email },
      },
    ])

    const first = await waitForSubjects(app, id, ['Single', 'Whole day', 'Series', 'Moved', 'Series'])
    expect(first.map(({ kind }) => kind)).toEqual([
      'single',
      'single',
      'occurrence',
      'exception',
      'occurrence',
    ])
    const [single, day, occurrence] = first as [CalendarEvent, CalendarEvent, CalendarEvent]
    const read = async (eventId: string) =>
      (await app.get<CalendarEventWithBody>(`/v1/accounts/${id}/calendar-events/${eventId}`)).body
    expect(await read(single.id)).toMatchObject({
      location: 'Room 5',
      snippet: 'Bring tea',
      body: { contentType: 'html', content: '<p>Bring <b>tea</b></p>' },
      start: { timeZone: 'Europe/Berlin' },
      organizer: { address: email },
      isOrganizer: true,
      selfResponse: 'organizer',
      attendees: [
        { name: 'A guest', address: 'guest@example.com', type: 'required', response: 'needs_action' },
      ],
      onlineMeetingProvider: 'google_meet',
      showAs: 'busy',
    })
    expect(day).toMatchObject({ isAllDay: true, showAs: 'free', start: { dateTime: null } })
    expect(await read(occurrence.seriesId!)).toMatchObject({
      kind: 'series',
      recurrence: ['RRULE:FREQ=DAILY;COUNT=5'],
      recurrenceTimeZone: 'UTC',
      cancelledStarts: [11, 13].map(days => expect.stringContaining(timeOf(dayAhead(days)).date!)),
    })

    const made = await client.insert(hourOn(4, 10, 'New'))
    await look()
    const rest = ['Series', 'Moved', 'Series']
    const [, , fresh] = await waitForSubjects(app, id, ['Single', 'Whole day', 'New', ...rest])
    await client.patch(made.id, { summary: 'Renamed' })
    await look()
    const renamed = await waitForSubjects(app, id, ['Single', 'Whole day', 'Renamed', ...rest])
    expect(renamed[2]!.id).toBe(fresh!.id)
    await client.remove(made.id)
    await look()
    await waitForSubjects(app, id, ['Single', 'Whole day', ...rest])
    await client.patch((await memberOf(client, 10)).id, { summary: 'Once' })
    await look()
    const excepted = await waitForSubjects(app, id, ['Single', 'Whole day', 'Once', 'Moved', 'Series'])
    expect(excepted[2]).toMatchObject({ id: occurrence.id, kind: 'exception', seriesId: occurrence.seriesId })
    await expectEqualCalendars(app, id)
    await client.patch(series.id!, { recurrence: ['RRULE:FREQ=DAILY;COUNT=5'] })
    await look()
    await waitForSubjects(app, id, ['Single', 'Whole day', 'Once', 'Moved', 'Series', 'Series'])
    await client.remove(series.id!)
    await look()
    await waitForSubjects(app, id, ['Single', 'Whole day'])

    const announced = (await feed(id)).filter(line => !/^calendar_event.updated single Single/.test(line))
    expect(announced).toEqual([
      'calendar.initialized',
      'calendar_event.created single New',
      'calendar_event.updated single Renamed subject',
      'calendar_event.deleted single Renamed',
      'calendar_event.created exception Once',
      'calendar_event.updated series Series cancelledStarts',
      'calendar_event.deleted series Series',
    ])
  })

  test('lose nothing when their tokens expire, and announce only what has changed', async () => {
    const { app } = opened()
    let gone = ''
    const { account, client, look } = await connectGoogleCalendar(opened(), async other => {
      for (const summary of ['One', 'Two', 'Three']) await other.insert(hourOn(1, 10, summary))
      gone = (await other.insert(hourOn(1, 12, 'Gone'))).id
      const { id } = await other.addCalendar({ summary: 'Second' })
      await other.insert(hourOn(2, 10, 'Four'), id)
    })
    const before = await waitForSubjectSet(account.id, ['One', 'Two', 'Three', 'Four', 'Gone'])
    const calls = async () => (await opened().sandbox.calls({ host: CALENDAR_HOST })).items

    await client.expire()
    await client.remove(gone)
    await client.insert(hourOn(3, 10, 'Five'))
    await look()
    const after = await waitForSubjectSet(account.id, ['One', 'Two', 'Three', 'Four', 'Five'])
    await waitUntil(
      'the renewal of both calendars',
      async () => (await calls()).filter(({ status }) => status === 410).length >= 2,
    )
    const kept = before.filter(({ subject }) => subject !== 'Gone')
    for (const { id } of kept) expect(after.map(event => event.id)).toContain(id)
    expect((await feed(account.id)).toSorted()).toEqual([
      'calendar.initialized',
      'calendar_event.created single Five',
      'calendar_event.deleted single Gone',
    ])
    expect((await app.get<Account>(`/v1/accounts/${account.id}`)).body.status).toBe('active')
  })

  test('keep the id of an event that moves to another one', async () => {
    const { app } = opened()
    let second = ''
    const { account, client, look, email } = await connectGoogleCalendar(opened(), async other => {
      second = (await other.addCalendar({ summary: 'Second' })).id
    })
    const made = await client.insert(hourOn(1, 10, 'One'))
    await look()
    const [before] = await waitForSubjects(app, account.id, ['One'])
    await client.move(made.id, email, second)
    await look()
    const isMoved = async () => (await feed(account.id)).length > 2
    await waitUntil('the move', isMoved)
    const [after] = await waitForSubjects(app, account.id, ['One'])
    expect(after!.id).toBe(before!.id)
    expect(after!.calendarId).not.toBe(before!.calendarId)
    expect(await feed(account.id)).toEqual([
      'calendar.initialized',
      'calendar_event.created single One',
      expect.stringMatching(/^calendar_event.updated single One .*calendarId/),
    ])
  })

  test('come and go with the list of the user, and show a calendar that is only read', async () => {
    const { app, sandbox } = opened()
    const { account, client, look, email } = await connectGoogleCalendar(opened())
    const { id: accountId } = account
    const other = await addUser(opened())
    const { id: calendarId } = await other.client.addCalendar({ summary: 'Shared' })
    await other.client.insert(hourOn(1, 10, 'Theirs'), calendarId)
    await sandbox.control('POST', '/calendar/shares', { calendarId, user: email, role: 'reader' })
    await look()
    const [theirs] = await waitForSubjects(app, accountId, ['Theirs'])
    expect(theirs).toMatchObject({ isOrganizer: false, selfResponse: 'none' })
    const shared = async () => {
      const { body } = await app.get<{ items: Calendar[] }>(`/v1/accounts/${accountId}/calendars`)
      return body.items.find(({ isPrimary }) => !isPrimary)
    }
    expect(await shared()).toMatchObject({
      name: 'Shared',
      access: 'reader',
      canEdit: false,
      owner: { address: other.email },
    })
    await client.changeEntry(calendarId, { summaryOverride: 'Ours', hidden: true })
    await look()
    await waitUntil('the new name', async () => (await shared())?.name === 'Ours')
    expect(await feed(accountId)).toEqual([
      'calendar.initialized',
      'calendar.created Shared',
      'calendar_event.created single Theirs',
      'calendar.updated Ours isHidden name',
    ])
  })

  test('are followed only once the user has granted them', async () => {
    const { app } = opened()
    const { email, client } = await addUser(opened())
    await client.insert(hourOn(1, 10, 'One'))
    const { id } = await connectUser(opened(), email, [])
    await waitForFirstSync(app, id)
    const { body } = await app.get<Account>(`/v1/accounts/${id}`)
    expect(body).toMatchObject({
      settings: { calendarEnabled: false },
      calendarInitializedAt: null,
      statusReason: null,
    })
    expect(await app.get(`/v1/accounts/${id}/calendars`)).toMatchObject({
      status: 409,
      body: { code: 'calendar_disabled' },
    })
    const { rows } =
      await sql`select from account_half where account_id = ${id} and kind = 'calendar'`.execute(app.db)
    expect(rows).toEqual([])
    expect(await feed(id)).toEqual([])

    await signInAgain(opened(), { id, email }, [CALENDAR_SCOPE])
    await app.patch(`/v1/accounts/${id}`, { settings: { calendarEnabled: true } })
    await waitForCalendars(app, id)
    await waitForSubjects(app, id, ['One'])
    expect(await feed(id)).toEqual(['calendar.initialized'])
  })

  test('rest without a permission that the user has taken back, while mail goes on', async () => {
    const { app, sandbox } = opened()
    const { account, email } = await connectGoogleCalendar(opened(), other =>
      other.insert(hourOn(1, 10, 'One')),
    )
    const { id } = account
    await waitForSubjects(app, id, ['One'])

    await signInAgain(opened(), account, [])
    await sandbox.deliver(email, letter('Still here').replaceAll(/\r?\n/g, '\r\n'))
    await waitUntil('the message', async () =>
      (await readMessages(app, id)).some(({ subject }) => subject === 'Still here'),
    )
    expect((await app.get<Account>(`/v1/accounts/${id}`)).body).toMatchObject({
      status: 'active',
      settings: { calendarEnabled: false },
    })
    expect((await app.get(`/v1/accounts/${id}/calendars`)).status).toBe(409)
    expect(await feed(id)).toEqual(['calendar.initialized'])

    await signInAgain(opened(), account, [CALENDAR_SCOPE])
    await app.patch(`/v1/accounts/${id}`, { settings: { calendarEnabled: true } })
    await waitForSubjects(app, id, ['One'])
    expect(await feed(id)).toEqual(['calendar.initialized'])
  })

  test('fail alone while Google refuses them, and go on by themselves', async () => {
    const { app, sandbox } = opened()
    const { account, client, look } = await connectGoogleCalendar(opened())
    await configureCalendar(sandbox, { enabled: false })
    try {
      await client.insert(hourOn(1, 10, 'One')).catch(() => {})
      await look()
      await waitUntil('the refusal', async () => {
        const { items } = await sandbox.calls({ host: CALENDAR_HOST })
        return items.some(({ status }) => status === 403)
      })
      expect((await app.get<Account>(`/v1/accounts/${account.id}`)).body.status).toBe('active')
    } finally {
      await configureCalendar(sandbox, { enabled: true })
    }
    await client.insert(hourOn(1, 10, 'Two'))
    await look()
    await waitForSubjects(app, account.id, ['Two'])
  })
})

/** Waits until what takes place has these subjects, in any order. */
function waitForSubjectSet(accountId: string, subjects: readonly string[]): Promise<CalendarEvent[]> {
  return waitUntil(`the events ${subjects.join(', ')}`, async () => {
    const events = await readTakingPlace(opened().app, accountId)
    const found = events.map(({ subject }) => subject).toSorted()
    return found.join('\n') === subjects.toSorted().join('\n') ? events : null
  })
}
