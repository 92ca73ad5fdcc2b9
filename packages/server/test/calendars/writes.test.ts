import type { CalendarEvent, CalendarEventWithBody } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import type { Account } from '@waxwing/contract/accounts/accounts.ts'
import { describe, expect, test } from 'vitest'
import { DAY_MS } from '../../src/kit/wall-clock.ts'
import { startCyrusDav } from '../servers/cyrus-dav.ts'
import { davTestClient } from '../servers/dav-client.ts'
import { connectionWithDav } from '../servers/dav-connection.ts'
import { startDovecot } from '../servers/dovecot.ts'
import { startRadicale } from '../servers/radicale.ts'
import { useServer } from '../servers/shared-server.ts'
import { expectEqualCalendars } from '../sync/compare-now.ts'
import { openSyncApp } from '../sync/followed-account.ts'
import { readTakingPlace, waitForCalendars, waitForSubjects } from './caldav-account.ts'

const opened = useServer(() => openSyncApp())
const dovecot = useServer(startDovecot)

const FIRST = Math.floor(Date.now() / DAY_MS) * DAY_MS + 10 * DAY_MS + 9 * 3_600_000
const time = (days: number, hours = 0) => ({
  dateTime: new Date(FIRST + days * DAY_MS + hours * 3_600_000).toISOString(),
  timeZone: 'UTC',
})
const inShort = ({ start, subject }: CalendarEvent) => `${start.dateTime} ${subject}`
const expected = (...given: Array<[days: number, hours: number, subject: string]>) =>
  given.map(([days, hours, subject]) => `${time(days, hours).dateTime} ${subject}`)

describe.each([
  { name: 'Radicale', start: startRadicale },
  { name: 'Cyrus', start: startCyrusDav },
])('the calendars of $name', ({ start }) => {
  const server = useServer(start)

  test('hold a series that the interface creates, changes, splits and deletes', async () => {
    const app = opened()
    const user = await dovecot().addUser()
    const davUser = await server().addUser()
    await davTestClient(server(), davUser).makeCalendar('team')
    const connection = connectionWithDav(dovecot(), user, { dav: server(), davUser, half: 'calendarUrl' })
    const { body: account } = await app.post<Account>('/v1/imap-accounts', connection)
    await waitForCalendars(app, account.id)
    const path = `/v1/accounts/${account.id}`
    const events = `${path}/calendar-events`
    const made = await app.post<Calendar>(`${path}/calendars`, { name: 'Plans' })
    expect(made).toMatchObject({ status: 200, body: { name: 'Plans', canEdit: true, access: 'owner' } })
    const here = async () => (await readTakingPlace(app, account.id)).map(inShort)

    const created = await app.post<CalendarEventWithBody>(events, {
      calendarId: made.body.id,
      start: time(0),
      end: time(0, 1),
      subject: 'Daily',
      body: { content: 'a < b, c; d' },
      recurrence: ['RRULE:FREQ=DAILY;COUNT=5'],
    })
    expect(created).toMatchObject({ status: 200, body: { kind: 'series', body: { content: 'a < b, c; d' } } })
    const occurrences = await readTakingPlace(app, account.id)
    const of = (days: number) => occurrences[days]!.id
    const once = await app.patch<CalendarEventWithBody>(`${events}/${of(4)}`, { subject: 'Once' })
    expect(once).toMatchObject({ status: 200, body: { id: of(4), kind: 'exception', subject: 'Once' } })
    expect((await app.delete(`${events}/${of(1)}`)).status).toBe(200)
    const split = await app.patch<CalendarEventWithBody>(`${events}/${of(2)}?scope=following`, {
      subject: 'Later',
      start: time(2, 3),
    })
    expect(split).toMatchObject({ status: 200, body: { kind: 'series', subject: 'Later' } })
    const after = expected([0, 0, 'Daily'], [2, 3, 'Later'], [3, 3, 'Later'], [4, 3, 'Once'])
    expect(await here()).toEqual(after)
    await expectEqualCalendars(app, account.id)

    expect((await app.delete(`${events}/${split.body.id}?notify=false`)).status).toBe(200)
    expect(await here()).toEqual(expected([0, 0, 'Daily']))
    expect((await app.delete(`${path}/calendars/${made.body.id}`)).status).toBe(200)
    await waitForSubjects(app, account.id, [])
    await expectEqualCalendars(app, account.id)
  })
})
