import type { CalendarEvent, CalendarEventWithBody } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCalendarDoor, readCalendarFeed } from '../../../../test/calendar-door.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { newId } from '../../../kit/ids.ts'
import { DAY_MS, printWall } from '../../../kit/wall-clock.ts'

type Door = Awaited<ReturnType<typeof openCalendarDoor>>
type Opened = Awaited<ReturnType<typeof openAccount>>

const opened = new AsyncDisposableStack()
let door: Door
let account: Opened
beforeAll(async () => {
  door = opened.use(await openCalendarDoor(opened.use(await openTestDatabase())))
  account = await openAccount()
})
afterAll(() => opened.disposeAsync())

const START = Math.floor(Date.now() / DAY_MS) * DAY_MS + 20 * DAY_MS + 9 * 3_600_000
const iso = (days: number, minutes = 0) =>
  new Date(START + days * DAY_MS + minutes * 60_000).toISOString().slice(0, 19)
const berlin = (days: number, minutes = 0) => ({ dateTime: iso(days, minutes), timeZone: 'Europe/Berlin' })
const HOUR = { start: berlin(0), end: berlin(0, 60) }
const DAILY = 'RRULE:FREQ=DAILY;COUNT=5'
const BEN = { address: 'ben@example.com' }

/** An account with a single, a series, and an invitation, and with a calendar that it may only read. */
async function openAccount() {
  const one = await door.openAccount('files')
  const { memory, path } = one
  const [first = ''] = memory.calendars.keys()
  const theirs = memory.createCalendar('theirs', { access: 'reader' })
  const utc = (days: number) => ({
    start: { wall: printWall(START + days * DAY_MS), zone: 'UTC' },
    end: { wall: printWall(START + days * DAY_MS + 3_600_000), zone: 'UTC' },
  })
  memory.add(first, { ...utc(0), subject: 'Single' })
  memory.add(first, { ...utc(1), subject: 'Series' }, { recurrence: [DAILY] })
  const { email } = await door.db
    .selectFrom('account')
    .select('email')
    .where('id', '=', one.id)
    .executeTakeFirstOrThrow()
  const organizer = { name: null, address: 'boss@example.com' }
  const attendees = [{ name: null, address: email, type: 'required', response: 'needs_action' } as const]
  memory.add(first, { ...utc(8), subject: 'Asked', organizer, attendees })
  memory.add(first, { ...utc(9), subject: 'Cancelled', organizer, attendees, status: 'cancelled' })
  memory.add(first, { ...utc(10), subject: 'Overheard', organizer })
  memory.add(first, { ...utc(12), subject: 'Weekly', organizer, attendees }, { recurrence: [DAILY] })
  memory.add(theirs, { ...utc(11), subject: 'Theirs' })
  await one.pass()
  const events = `${path}/calendar-events`
  const { body } = await door.get<{ items: CalendarEvent[] }>(`${events}?start=${iso(-1)}Z&end=${iso(20)}Z`)
  const calendars = (await door.get<{ items: Calendar[] }>(`${path}/calendars`)).body.items
  const idOf = (subject: string) => body.items.find(event => event.subject === subject)!.id
  const series = body.items.find(event => event.subject === 'Series')!.seriesId!
  return { ...one, events, calendars, idOf, series }
}

const issueAt = (...path: unknown[]) => ({ code: 'invalid_input', data: { issues: [{ path }] } })

/** Expects a refusal, and that nothing was written at the provider or in the index. */
async function expectRefused(status: number, body: object, act: () => Promise<{ status: number }>) {
  const state = async () => [
    structuredClone([...account.memory.items]),
    (await readCalendarFeed(door.db, account.id)).length,
  ]
  const before = await state()
  expect(await act()).toMatchObject({ status, body })
  expect(await state()).toEqual(before)
}

const create = (body: object) => () =>
  door.post(account.events, { calendarId: account.calendars[0]!.id, ...HOUR, ...body })
const patch =
  (subject: string, body: object, query = '') =>
  () =>
    door.patch(`${account.events}/${account.idOf(subject)}${query}`, body)

describe('a new event is refused', () => {
  const code = (reason: string) => ({ code: reason })
  const noZone = { dateTime: iso(0) }
  test.each<[string, number, object, object]>([
    ['a day and a time', 400, code('mixed_event_times'), { end: { date: '2027-01-05' } }],
    ['an end that is the start', 400, code('invalid_range'), { end: berlin(0) }],
    ['no day', 400, code('invalid_range'), { start: { date: '2027-01-05' }, end: { date: '2027-01-05' } }],
    ['neither time nor day', 400, issueAt('start'), { start: {} }],
    ['time and day', 400, issueAt('start'), { start: { ...berlin(0), date: '2027-01-05' } }],
    ['a day with a zone', 400, issueAt('end', 'timeZone'), { end: { date: '2027-01-05', timeZone: 'UTC' } }],
    ['a clock without a zone', 400, issueAt('start', 'timeZone'), { start: noZone }],
    [
      'an unknown zone',
      400,
      code('invalid_time_zone'),
      { start: { ...noZone, timeZone: 'Europe/Atlantis' } },
    ],
    [
      'a zone of Windows',
      400,
      { code: 'invalid_time_zone', message: expect.stringContaining('end.timeZone') },
      { end: { ...noZone, timeZone: 'W. Europe Standard Time' } },
    ],
    [
      'a series of an instant',
      400,
      issueAt('start', 'timeZone'),
      { start: { dateTime: `${iso(0)}Z` }, recurrence: [DAILY] },
    ],
    [
      'a wrong line',
      400,
      { code: 'invalid_recurrence', data: { issues: [{ path: ['recurrence', 1] }] } },
      { recurrence: [DAILY, 'DTSTART:20270101'] },
    ],
    [
      'no occurrence that is left',
      400,
      { code: 'invalid_recurrence', data: { issues: [{ path: ['recurrence'] }] } },
      { recurrence: ['RRULE:FREQ=DAILY;COUNT=1', `EXDATE;TZID=Europe/Berlin:${printWall(START)}`] },
    ],
    ['21 lines', 400, issueAt('recurrence'), { recurrence: Array.from({ length: 21 }, () => DAILY) }],
    [
      'two meetings',
      400,
      code('multiple_meeting_options'),
      { onlineMeeting: true, onlineMeetingUrl: 'https://meet.example.com/x' },
    ],
    ['a meeting that cannot be', 400, code('provider_unsupported'), { onlineMeeting: true }],
    ['a link that is none', 400, issueAt('onlineMeetingUrl'), { onlineMeetingUrl: 'javascript:alert(1)' }],
    ['an unknown calendar', 422, code('unknown_calendar'), { calendarId: newId() }],
    [
      '501 attendees',
      400,
      issueAt('attendees'),
      { attendees: Array.from({ length: 501 }, (_, nth) => ({ address: `a${nth}@example.com` })) },
    ],
    ['a line break', 400, issueAt('subject'), { subject: 'One\nTwo' }],
    ['a control character', 400, issueAt('body', 'content'), { body: { content: 'A\u0007' } }],
    ['a long subject', 400, issueAt('subject'), { subject: 'x'.repeat(256) }],
    ['an unknown state', 400, issueAt('showAs'), { showAs: 'unknown' }],
    ['a reminder before the start', 400, issueAt('reminderMinutes'), { reminderMinutes: -1 }],
    ['a year without zones', 400, issueAt('start'), { start: { date: '9998-01-01' } }],
    ['an unknown field', 400, { code: 'invalid_input' }, { onlineMeetingService: 'zoom' }],
  ])('%s', async (_, status, body, input) => expectRefused(status, body, create(input)))

  test('where the account may only read', async () => {
    const calendarId = account.calendars.find(({ canEdit }) => !canEdit)!.id
    await expectRefused(403, { code: 'calendar_read_only' }, create({ calendarId }))
    await expectRefused(403, { code: 'calendar_read_only' }, patch('Theirs', { subject: 'Ours' }))
    await expectRefused(403, { code: 'calendar_read_only' }, patch('Single', { calendarId }))
  })

  test('with people whom nobody would tell', async () => {
    account.memory.tellsPeople = false
    const unsupported = { code: 'provider_unsupported' }
    await expectRefused(400, unsupported, create({ attendees: [BEN] }))
    await expectRefused(400, unsupported, patch('Single', { attendees: [BEN] }))
    account.memory.tellsPeople = true
  })
})

describe('a change is refused', () => {
  const code = (reason: string) => ({ code: reason })
  test.each<[string, number, object, string, object, string?]>([
    ['a day for a time', 400, code('mixed_event_times'), 'Single', { start: { date: '2027-01-05' } }],
    ['an end before the start', 400, code('invalid_range'), 'Single', { end: berlin(-1) }],
    ['a rule of one occurrence', 400, code('recurrence_on_instance'), 'Series', { recurrence: null }],
    ['a scope of a single', 400, issueAt('scope'), 'Single', { subject: 'X' }, '?scope=this'],
    ['an unknown scope', 400, issueAt('scope'), 'Series', { subject: 'X' }, '?scope=all'],
    ['a calendar of nobody', 422, code('unknown_calendar'), 'Single', { calendarId: newId() }],
    ['what others organize', 403, code('provider_forbidden'), 'Asked', { subject: 'Mine' }],
    [
      'a rule that does not give the start',
      400,
      code('invalid_recurrence'),
      'Series',
      { recurrence: ['RRULE:FREQ=YEARLY;BYMONTH=13'] },
      '?scope=series',
    ],
  ])('%s', async (_, status, body, subject, input, query) =>
    expectRefused(status, body, patch(subject, input, query)),
  )

  test('of a series that others organize and that would be split', async () => {
    const { body } = await door.get<{ items: CalendarEvent[] }>(
      `${account.events}?start=${iso(-1)}Z&end=${iso(20)}Z`,
    )
    const [, second] = body.items.filter(({ subject }) => subject === 'Weekly')
    const path = `${account.events}/${second!.id}?scope=following`
    await expectRefused(403, { code: 'provider_forbidden' }, () => door.patch(path, { showAs: 'free' }))
  })

  test('of an occurrence that would move to another calendar', async () => {
    const second = account.memory.createCalendar('second')
    await account.pass()
    const { body } = await door.get<{ items: Calendar[] }>(`${account.path}/calendars`)
    const calendarId = body.items.find(({ name }) => name === 'second')!.id
    expect(account.memory.calendars.has(second)).toBe(true)
    await expectRefused(400, { code: 'provider_unsupported' }, patch('Series', { calendarId }))
  })

  test('of an event that is none', async () => {
    const path = (id: string) => `${account.events}/${id}`
    const none = { code: 'calendar_event_not_found' }
    for (const id of [newId(), 'nonsense']) {
      await expectRefused(404, none, () => door.patch(path(id), {}))
      await expectRefused(404, none, () => door.delete(path(id)))
      await expectRefused(404, none, () => door.post(`${path(id)}/respond`, { response: 'accepted' }))
    }
  })

  test('of what others organize, but for what is the account’s own', async () => {
    const own = { showAs: 'free', sensitivity: 'private', reminderMinutes: null }
    const answer = await patch('Asked', own)()
    expect(answer).toMatchObject({ status: 200, body: own })
  })
})

test('an answer to an invitation is refused to organizers, to others, and after the event was cancelled', async () => {
  const respond = (id: string) => () =>
    door.post(`${account.events}/${id}/respond`, { response: 'accepted', notify: false })
  await expectRefused(409, { code: 'organizer_cannot_respond' }, respond(account.idOf('Single')))
  await expectRefused(409, { code: 'organizer_cannot_respond' }, respond(account.series))
  await expectRefused(400, { code: 'provider_rejected' }, respond(account.idOf('Overheard')))
  await expectRefused(400, { code: 'provider_rejected' }, respond(account.idOf('Cancelled')))
})

test('writes are refused while calendars are off, and while the login is', async () => {
  const off = await door.openAccount('files', { calendarEnabled: false })
  const path = `${off.path}/calendar-events`
  const body = { calendarId: newId(), ...HOUR }
  expect(await door.post(path, body)).toMatchObject({ status: 409, body: { code: 'calendar_disabled' } })
  await door.db
    .updateTable('account_half')
    .set({ problem: 'dav_login_failed' })
    .where('account_id', '=', account.id)
    .where('kind', '=', 'calendar')
    .execute()
  await expectRefused(409, { code: 'account_misconfigured' }, create({}))
  await door.db
    .updateTable('account_half')
    .set({ problem: null })
    .where('account_id', '=', account.id)
    .execute()
})

test('a lost answer is 502, and a look brings what was written', async () => {
  account.memory.lostAnswers = 1
  const answer = await create({ subject: 'Lost' })()
  expect(answer).toMatchObject({ status: 502, body: { code: 'provider_unavailable' } })
  await account.pass()
  const { body } = await door.get<{ items: CalendarEventWithBody[] }>(
    `${account.events}?start=${iso(-1)}Z&end=${iso(20)}Z`,
  )
  expect(body.items.filter(({ subject }) => subject === 'Lost')).toHaveLength(1)
})
