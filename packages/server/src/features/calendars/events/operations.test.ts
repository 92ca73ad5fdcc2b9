import type { CalendarEvent, CalendarEventWithBody } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCalendarDoor, readCalendarFeed } from '../../../../test/calendar-door.ts'
import { PLAIN_EVENT } from '../../../../test/memory-calendars.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { newId } from '../../../kit/ids.ts'
import { DAY_MS, printDay, printWall } from '../../../kit/wall-clock.ts'
import { toInstant } from '../../../kit/zones/zones.ts'

type Door = Awaited<ReturnType<typeof openCalendarDoor>>
type Page = { items: CalendarEvent[]; nextCursor: string | null }

const opened = new AsyncDisposableStack()
let door: Door
beforeAll(async () => {
  door = opened.use(await openCalendarDoor(opened.use(await openTestDatabase())))
})
afterAll(() => opened.disposeAsync())

const refused = (status: number, code: string) => ({ status, body: { code } })
/** A Monday that lies in the window whenever the test runs. */
const MONDAY = Math.floor((Date.now() + 30 * DAY_MS) / (7 * DAY_MS)) * 7 * DAY_MS + 4 * DAY_MS
const wall = (days: number, hours = 0) => printWall(MONDAY + days * DAY_MS + hours * 3_600_000)
const day = (days: number) => printDay(MONDAY + days * DAY_MS)
const iso = (days: number, hours = 0) => new Date(MONDAY + days * DAY_MS + hours * 3_600_000).toISOString()
const range = (from: number, to: number) => `start=${iso(from)}&end=${iso(to)}`
const inZone = (days: number, hours: number, zone: string | null = 'UTC') => ({
  wall: wall(days, hours),
  zone,
})
const times = (days: number, hours: number, length = 1) => ({
  start: inZone(days, hours),
  end: inZone(days, hours + length),
})
const firstOf = ({ memory }: { memory: { calendars: Map<string, unknown> } }) =>
  [...memory.calendars.keys()][0]!

async function list(path: string, query: string): Promise<CalendarEvent[]> {
  const items: CalendarEvent[] = []
  for (let cursor = ''; ;) {
    const { body } = await door.get<Page>(`${path}/calendar-events?${query}${cursor}`)
    items.push(...body.items)
    if (body.nextCursor === null) return items
    cursor = `&cursor=${encodeURIComponent(body.nextCursor)}`
  }
}

describe.each(['files', 'members'] as const)('reading calendars that are told as %s', kind => {
  test('lists the occurrences of a series, and shows the series by its id', async () => {
    const account = await door.openAccount(kind)
    const { memory, path } = account
    const { key } = memory.add(
      firstOf(account),
      { ...times(0, 9), subject: 'Weekly' },
      { recurrence: ['RRULE:FREQ=WEEKLY;COUNT=4'] },
    )
    memory.setMember(key, wall(7, 9), { ...PLAIN_EVENT, ...times(8, 11), subject: 'Moved' })
    memory.setMember(key, wall(14, 9), null)
    await account.pass()
    const listed = await list(path, range(-1, 40))
    expect(listed).toMatchObject([
      { kind: 'occurrence', subject: 'Weekly', start: { dateTime: iso(0, 9) }, originalStart: iso(0, 9) },
      { kind: 'exception', subject: 'Moved', start: { dateTime: iso(8, 11) }, originalStart: iso(7, 9) },
      { kind: 'occurrence', subject: 'Weekly', start: { dateTime: iso(21, 9) } },
    ])
    const seriesId = listed[0]!.seriesId!
    const { body: series } = await door.get<CalendarEventWithBody>(`${path}/calendar-events/${seriesId}`)
    expect(series).toMatchObject({
      kind: 'series',
      recurrence: ['RRULE:FREQ=WEEKLY;COUNT=4'],
      recurrenceTimeZone: 'UTC',
      cancelledStarts: [iso(14, 9)],
      body: null,
    })
    const { body: occurrence } = await door.get(`${path}/calendar-events/${listed[0]!.id}`)
    expect(occurrence).toEqual({ ...listed[0], body: null })
  })

  test('keeps the id of an occurrence that becomes an exception and is none again', async () => {
    const account = await door.openAccount(kind)
    const { memory, path } = account
    const { key } = memory.add(
      firstOf(account),
      { ...times(0, 9), subject: 'Daily' },
      { recurrence: ['RRULE:FREQ=DAILY;COUNT=3'] },
    )
    await account.pass()
    const ids = (await list(path, range(-1, 9))).map(({ id }) => id)
    memory.setMember(key, wall(1, 9), { ...PLAIN_EVENT, ...times(1, 10) })
    await account.pass()
    memory.clearMember(key, wall(1, 9))
    await account.pass()
    memory.setMember(key, wall(2, 9), null)
    await account.pass()
    expect((await list(path, range(-1, 9))).map(({ id }) => id)).toEqual(ids.slice(0, 2))
    const feed = await readCalendarFeed(door.db, account.id)
    expect(feed).toMatchObject([
      { type: 'calendar.initialized', data: { calendars: 1, events: 1 } },
      { type: 'calendar_event.created', data: { event: { id: ids[1], kind: 'exception' } } },
      { type: 'calendar_event.deleted', data: { event: { id: ids[1], kind: 'exception' } } },
      { type: 'calendar_event.updated', data: { event: { kind: 'series' }, changes: ['cancelledStarts'] } },
    ])
  })

  test('announces what another client creates, changes and deletes, once each', async () => {
    const account = await door.openAccount(kind)
    const { memory } = account
    await account.pass()
    const { key } = memory.add(firstOf(account), { ...times(0, 9), subject: 'One' })
    await account.pass()
    memory.update(key, { subject: 'Two', body: { contentType: 'html', content: '<p>Hello <b>you</b></p>' } })
    await account.pass()
    await account.pass()
    memory.remove(key)
    await account.pass()
    expect((await readCalendarFeed(door.db, account.id)).slice(1)).toMatchObject([
      { type: 'calendar_event.created', data: { event: { subject: 'One' } } },
      {
        type: 'calendar_event.updated',
        data: { event: { subject: 'Two', snippet: 'Hello you' }, changes: ['subject', 'snippet'] },
      },
      { type: 'calendar_event.deleted', data: { event: { subject: 'Two' } } },
    ])
  })

  test('shows exceptions of a series that is not known, until it is', async () => {
    const account = await door.openAccount(kind)
    const { memory, path } = account
    const held = memory.add(firstOf(account), {}, { event: null, recurrence: [] })
    memory.setMember(held.key, wall(0, 9), { ...PLAIN_EVENT, ...times(0, 10), subject: 'Invited' })
    await account.pass()
    const [alone] = await list(path, range(-1, 9))
    expect(alone).toMatchObject({ kind: 'exception', seriesId: null, subject: 'Invited' })
    memory.update(held.key, { ...PLAIN_EVENT, ...times(0, 9), subject: 'Series' }, [
      'RRULE:FREQ=DAILY;COUNT=2',
    ])
    await account.pass()
    const [exception, occurrence] = await list(path, range(-1, 9))
    expect(exception).toEqual({ ...alone, seriesId: occurrence!.seriesId })
    expect(occurrence).toMatchObject({ kind: 'occurrence', subject: 'Series' })
  })
})

describe('the range of a list', () => {
  test.each(['Pacific/Pago_Pago', 'UTC', 'Pacific/Kiritimati'])(
    'has what overlaps it, and nothing that touches it, in a calendar of %s',
    async zone => {
      const account = await door.openAccount('files')
      const { memory, path } = account
      const calendar = firstOf(account)
      memory.updateCalendar(calendar, { timeZone: zone })
      const start = toInstant(wall(0), zone)
      const end = toInstant(wall(2), zone)
      const add = (subject: string, from: string, to: string) =>
        memory.add(calendar, { subject, start: { wall: from, zone: null }, end: { wall: to, zone: null } })
      add('ends at the start', wall(-1, 5), wall(0))
      add('reaches in', wall(0, -1), wall(0, 1))
      add('is long', wall(-40), wall(0, 2))
      add('has no length at the start', wall(0), wall(0))
      add('is of the day before', day(-1), day(0))
      add('is of the first day', day(0), day(1))
      add('is of the last day', day(1), day(2))
      add('is of the day after', day(2), day(3))
      add('has no length at the end', wall(2), wall(2))
      await account.pass()
      const query = `start=${new Date(start).toISOString()}&end=${new Date(end).toISOString()}`
      const subjects = (await list(path, query)).map(({ subject }) => subject)
      expect(subjects.toSorted()).toEqual([
        'has no length at the start',
        'is long',
        'is of the first day',
        'is of the last day',
        'reaches in',
      ])
      const first = (await list(path, query)).find(({ isAllDay }) => isAllDay)
      expect(first).toMatchObject({
        start: { date: iso(0).slice(0, 10), dateTime: null, timeZone: null },
        end: { date: iso(1).slice(0, 10) },
      })
    },
  )

  test('is cut to pages that neither lose nor repeat an event', async () => {
    const account = await door.openAccount('files')
    const { memory, path } = account
    memory.add(firstOf(account), times(0, 9), { recurrence: ['RRULE:FREQ=DAILY;COUNT=20'] })
    for (let nth = 0; nth < 20; nth++) memory.add(firstOf(account), times(nth % 5, 9))
    memory.add(firstOf(account), { start: inZone(-30, 0), end: inZone(30, 0) })
    await account.pass()
    const whole = await list(path, `${range(-1, 40)}&limit=500`)
    const pages = await list(path, `${range(-1, 40)}&limit=3`)
    expect(whole).toHaveLength(41)
    expect(pages).toEqual(whole)
  })

  test('must not be reversed', async () => {
    const { path } = await door.openAccount('files')
    expect(await door.get(`${path}/calendar-events?${range(1, 1)}`)).toMatchObject(
      refused(400, 'invalid_range'),
    )
  })
})

test('lists calendars, the primary one first, and only the events of a calendar that is named', async () => {
  const account = await door.openAccount('files')
  const { memory, path } = account
  const second = memory.createCalendar('Second', { color: '#0b8043', access: 'reader' })
  memory.add(firstOf(account), { ...times(0, 9), subject: 'of the first' })
  memory.add(second, { ...times(0, 9), subject: 'of the second' })
  await account.pass()
  const { body } = await door.get<{ items: Calendar[] }>(`${path}/calendars`)
  expect(body.items).toMatchObject([
    { name: 'first', isPrimary: true, canEdit: true },
    { name: 'Second', isPrimary: false, canEdit: false, color: '#0b8043' },
  ])
  const ofSecond = await list(path, `${range(-1, 9)}&calendarId=${body.items[1]!.id}`)
  expect(ofSecond.map(({ subject }) => subject)).toEqual(['of the second'])
  expect(await door.get(`${path}/calendar-events?${range(-1, 9)}&calendarId=${newId()}`)).toMatchObject(
    refused(422, 'unknown_calendar'),
  )
})

test('refuses reads of a calendar that is switched off, and ids of no event', async () => {
  const off = await door.openAccount('files', { calendarEnabled: false })
  const disabled = refused(409, 'calendar_disabled')
  expect(await door.get(`${off.path}/calendars`)).toMatchObject(disabled)
  expect(await door.get(`${off.path}/calendar-events?${range(0, 1)}`)).toMatchObject(disabled)
  expect(await door.get(`${off.path}/calendar-events/${newId()}`)).toMatchObject(disabled)
  const on = await door.openAccount('files')
  const unknown = refused(404, 'calendar_event_not_found')
  expect(await door.get(`${on.path}/calendar-events/${newId()}`)).toMatchObject(unknown)
  expect(await door.get(`${on.path}/calendar-events/none`)).toMatchObject(unknown)
})
