import type { CalendarEventWithBody } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCalendarDoor, readCalendarFeed } from '../../../../test/calendar-door.ts'
import { PLAIN_EVENT } from '../../../../test/memory-calendars.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { sampleGrant, sampleTenant } from '../../../../test/sample-rows.ts'
import { newId } from '../../../kit/ids.ts'
import { DAY_MS, printWall } from '../../../kit/wall-clock.ts'

type Door = Awaited<ReturnType<typeof openCalendarDoor>>
type Account = Awaited<ReturnType<Door['openAccount']>>

const opened = new AsyncDisposableStack()
let door: Door
let account: Account
beforeAll(async () => {
  door = opened.use(await openCalendarDoor(opened.use(await openTestDatabase())))
  account = await door.openAccount('files')
  const [calendar = ''] = account.memory.calendars.keys()
  for (let nth = 0; nth < 3; nth++) account.memory.add(calendar, at(nth + 1))
  await account.pass()
})
afterAll(() => opened.disposeAsync())

const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS
const wall = (days: number, hours = 0) => printWall(TODAY + days * DAY_MS + hours * 3_600_000)
const iso = (days: number, hours = 0) => new Date(TODAY + days * DAY_MS + hours * 3_600_000).toISOString()
const at = (days: number, hours = 9) => ({
  start: { wall: wall(days, hours), zone: 'UTC' },
  end: { wall: wall(days, hours + 1), zone: 'UTC' },
})
const range = (from: number, to: number) => `start=${iso(from)}&end=${iso(to)}`
const refused = (status: number, code: string) => ({ status, body: { code } })

describe('the list of events refuses', () => {
  test.each([
    ['a range that is reversed', range(2, 1)],
    ['a range without length', range(1, 1)],
  ])('%s', async (_, query) => {
    expect(await door.get(`${account.path}/calendar-events?${query}`)).toMatchObject(
      refused(400, 'invalid_range'),
    )
  })

  test.each([
    ['start', `end=${iso(1)}`],
    ['end', `start=${iso(1)}`],
    ['start', `start=2026-11-29&end=${iso(1)}`],
    ['start', `start=today&end=${iso(1)}`],
    ['end', `start=${iso(1)}&end=2026-13-01T00:00:00Z`],
    ['calendarId', `${range(0, 1)}&calendarId=primary`],
    ['limit', `${range(0, 1)}&limit=0`],
    ['limit', `${range(0, 1)}&limit=501`],
    ['limit', `${range(0, 1)}&limit=ten`],
    ['', `${range(0, 1)}&expand=true`],
  ])('a wrong %s: %s', async (field, query) => {
    const { status, body } = await door.get(`${account.path}/calendar-events?${query}`)
    expect({ status, body }).toMatchObject(refused(400, 'invalid_input'))
    expect(JSON.stringify(body)).toContain(field)
  })

  test('cursors that are none, of another range, of another account, or of another calendar', async () => {
    const { body } = await door.get<{ nextCursor: string }>(
      `${account.path}/calendar-events?${range(0, 9)}&limit=1`,
    )
    const cursor = `cursor=${encodeURIComponent(body.nextCursor)}`
    const { body: calendars } = await door.get<{ items: Calendar[] }>(`${account.path}/calendars`)
    const other = await door.openAccount('files')
    await other.pass()
    const wrong = [
      `${account.path}/calendar-events?${range(0, 9)}&cursor=none`,
      `${account.path}/calendar-events?${range(0, 8)}&${cursor}`,
      `${account.path}/calendar-events?${range(0, 9)}&calendarId=${calendars.items[0]!.id}&${cursor}`,
      `${other.path}/calendar-events?${range(0, 9)}&${cursor}`,
    ]
    for (const path of wrong) expect(await door.get(path)).toMatchObject(refused(400, 'invalid_cursor'))
  })

  test('calendars that the account does not have', async () => {
    const other = await door.openAccount('files')
    await other.pass()
    const { body } = await door.get<{ items: Calendar[] }>(`${other.path}/calendars`)
    for (const id of [newId(), body.items[0]!.id])
      expect(await door.get(`${account.path}/calendar-events?${range(0, 1)}&calendarId=${id}`)).toMatchObject(
        refused(422, 'unknown_calendar'),
      )
  })
})

test('a range outside of the window has no events, and one that reaches out of it is cut', async () => {
  const { body } = await door.get(`${account.path}/calendar-events?${range(-2000, -1000)}`)
  expect(body).toEqual({ items: [], nextCursor: null })
  const wide = await door.get<{ items: unknown[] }>(`${account.path}/calendar-events?${range(-4000, 4000)}`)
  expect(wide.body.items).toHaveLength(3)
})

describe('calendars and events', () => {
  const paths = (path: string) => [
    `${path}/calendars`,
    `${path}/calendar-events?${range(0, 1)}`,
    `${path}/calendar-events/${newId()}`,
  ]

  test('are refused for accounts that nobody has, or another tenant', async () => {
    const foreign = await door.openAccount('files')
    const tenant = await sampleTenant(door.db)
    const stranger = door.as(await door.door.createKey(['read'], { tenantId: tenant.id }))
    const missing = refused(404, 'account_not_found')
    for (const path of [...paths(`/v1/accounts/${newId()}`), ...paths('/v1/accounts/mine')])
      expect(await door.get(path)).toMatchObject(missing)
    for (const path of paths(foreign.path)) expect(await stranger.get(path)).toMatchObject(missing)
  })

  test('are refused while the half is off, before anything else that is wrong', async () => {
    const off = await door.openAccount('files', { calendarEnabled: false })
    for (const path of [...paths(off.path), `${off.path}/calendar-events?${range(1, 0)}`])
      expect(await door.get(path)).toMatchObject(refused(409, 'calendar_disabled'))
  })

  test('are refused to a key that may not read', async () => {
    const writer = door.as(await door.door.createKey(['write']))
    for (const path of paths(account.path))
      expect(await writer.get(path)).toMatchObject(refused(403, 'missing_scope'))
  })

  test('of other accounts are not found', async () => {
    const other = await door.openAccount('files')
    await other.pass()
    const { body } = await door.get<{ items: Array<{ id: string }> }>(
      `${account.path}/calendar-events?${range(0, 9)}`,
    )
    const [event] = body.items
    expect(await door.get(`${other.path}/calendar-events/${event!.id}`)).toMatchObject(
      refused(404, 'calendar_event_not_found'),
    )
    expect((await door.get(`${account.path}/calendar-events/${event!.id.toUpperCase()}`)).status).toBe(200)
  })
})

test('an event of any kind is shown with every field and its body', async () => {
  const full = await door.openAccount('files')
  const { memory, path } = full
  const [calendar = ''] = memory.calendars.keys()
  const { key } = memory.add(
    calendar,
    {
      ...PLAIN_EVENT,
      ...at(1),
      subject: 'Review',
      location: 'Room 4',
      body: { contentType: 'html', content: '<p>The <b>agenda</b></p>' },
      organizer: { name: 'Ada', address: 'ada@example.com' },
      attendees: [{ name: null, address: 'bob@example.com', type: 'optional', response: 'tentative' }],
      self: { isOrganizer: true, response: 'organizer' },
      status: 'tentative',
      showAs: 'oof',
      sensitivity: 'private',
      onlineMeetingUrl: 'https://meet.example.com/a',
      onlineMeetingProvider: 'other',
      iCalUid: 'review@example.com',
      categories: ['work'],
      hasAttachments: true,
      reminderMinutes: 10,
      webLink: 'https://calendar.example.com/review',
      updatedAt: new Date('2026-11-01T08:00:00Z'),
    },
    { uid: 'review@example.com', recurrence: ['RRULE:FREQ=DAILY;COUNT=4'] },
  )
  const { event } = memory.items.get(key)!
  memory.setMember(key, wall(2, 9), {
    ...event!,
    ...at(2, 15),
    subject: 'Moved',
    body: null,
    updatedAt: null,
  })
  memory.setMember(key, wall(3, 9), null)
  await full.pass()
  const { body: calendars } = await door.get<{ items: Calendar[] }>(`${path}/calendars`)
  const { body: listed } = await door.get<{ items: CalendarEventWithBody[] }>(
    `${path}/calendar-events?${range(0, 9)}`,
  )
  const [occurrence, exception] = listed.items
  const get = async (id: string) =>
    (await door.get<CalendarEventWithBody>(`${path}/calendar-events/${id}`)).body
  const series = await get(occurrence!.seriesId!)
  const time = (days: number, hours: number) => ({ dateTime: iso(days, hours), date: null, timeZone: 'UTC' })
  expect(series).toEqual({
    id: series.id,
    calendarId: calendars.items[0]!.id,
    kind: 'series',
    seriesId: null,
    originalStart: null,
    subject: 'Review',
    snippet: 'The agenda',
    location: 'Room 4',
    start: time(1, 9),
    end: time(1, 10),
    isAllDay: false,
    organizer: { name: 'Ada', address: 'ada@example.com' },
    attendees: [{ name: null, address: 'bob@example.com', type: 'optional', response: 'tentative' }],
    isOrganizer: true,
    selfResponse: 'organizer',
    status: 'tentative',
    showAs: 'oof',
    sensitivity: 'private',
    onlineMeetingUrl: 'https://meet.example.com/a',
    onlineMeetingProvider: 'other',
    iCalUid: 'review@example.com',
    recurrence: ['RRULE:FREQ=DAILY;COUNT=4'],
    recurrenceTimeZone: 'UTC',
    cancelledStarts: [iso(3, 9)],
    categories: ['work'],
    hasAttachments: true,
    reminderMinutes: 10,
    webLink: 'https://calendar.example.com/review',
    updatedAt: '2026-11-01T08:00:00.000Z',
    body: { contentType: 'html', content: '<p>The <b>agenda</b></p>' },
  })
  const member = { seriesId: series.id, recurrence: null, recurrenceTimeZone: null, cancelledStarts: null }
  const shownOccurrence = {
    ...series,
    ...member,
    id: occurrence!.id,
    kind: 'occurrence',
    originalStart: iso(1, 9),
  }
  const { body: _, ...withoutBody } = shownOccurrence
  expect(occurrence).toEqual(withoutBody)
  expect(await get(occurrence!.id)).toEqual(shownOccurrence)
  expect(await get(exception!.id)).toEqual({
    ...series,
    ...member,
    id: exception!.id,
    kind: 'exception',
    originalStart: iso(2, 9),
    start: time(2, 15),
    end: time(2, 16),
    subject: 'Moved',
    snippet: '',
    body: null,
    updatedAt: exception!.updatedAt,
  })
})

test('a calendar that the grant of its account only reads cannot be edited, and is announced when it can', async () => {
  const reading = await door.openAccount('members')
  const mailbox = { provider: 'gmail' as const, auth_method: 'oauth' as const, imap: null }
  await door.db.updateTable('account').set(mailbox).where('id', '=', reading.id).execute()
  const MAIL = 'https://www.googleapis.com/auth/gmail.modify'
  const CALENDAR = 'https://www.googleapis.com/auth/calendar'
  const canEdit = async () => {
    const { body } = await door.get<{ items: Calendar[] }>(`${reading.path}/calendars`)
    return body.items.map(each => each.canEdit)
  }
  await sampleGrant(door.db, reading.id, [MAIL, `${CALENDAR}.readonly`])
  await reading.pass()
  expect(await canEdit()).toEqual([false])
  await sampleGrant(door.db, reading.id, [MAIL, CALENDAR])
  await reading.pass()
  expect(await canEdit()).toEqual([true])
  expect((await readCalendarFeed(door.db, reading.id)).slice(1)).toMatchObject([
    { type: 'calendar.updated', data: { calendar: { canEdit: true }, changes: ['canEdit'] } },
  ])
})
