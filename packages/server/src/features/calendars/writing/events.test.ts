import type { CalendarEvent, CalendarEventWithBody } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openCalendarDoor, readCalendarFeed } from '../../../../test/calendar-door.ts'
import { expectEqualIndex, readShown } from '../../../../test/calendars/equal-index.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { DAY_MS, printWall } from '../../../kit/wall-clock.ts'

type Door = Awaited<ReturnType<typeof openCalendarDoor>>

const opened = new AsyncDisposableStack()
let door: Door
beforeAll(async () => {
  door = opened.use(await openCalendarDoor(opened.use(await openTestDatabase())))
})
afterAll(() => opened.disposeAsync())

const START = Math.floor(Date.now() / DAY_MS) * DAY_MS + 20 * DAY_MS
const at = (days: number, hours = 9) => new Date(START + days * DAY_MS + hours * 3_600_000).toISOString()
const wall = (days: number, hours = 9) => printWall(START + days * DAY_MS + hours * 3_600_000)
const time = (days: number, hours = 9) => ({ dateTime: at(days, hours), timeZone: 'UTC' })
const hour = (days: number, hours = 9) => ({ start: time(days, hours), end: time(days, hours + 1) })

/** An account with two calendars, of which the first holds a series of five days. */
async function openWritten(kind: 'files' | 'members') {
  const account = await door.openAccount(kind)
  const { memory, path } = account
  memory.createCalendar('second')
  await account.pass()
  const calendars = (await door.get<{ items: Calendar[] }>(`${path}/calendars`)).body.items
  const [first, second] = calendars.map(({ id }) => id)
  const initial = await readShown(door.db, account.id)
  const events = `${path}/calendar-events`
  const create = async (body: object) => {
    const answer = await door.post<CalendarEventWithBody>(events, {
      calendarId: first,
      notify: false,
      ...body,
    })
    expect(answer).toMatchObject({ status: 200 })
    return answer.body
  }
  return {
    ...account,
    events,
    first: first!,
    second: second!,
    create,
    createSeries: (body: object = {}) =>
      create({ ...hour(0), subject: 'Daily', recurrence: ['RRULE:FREQ=DAILY;COUNT=5'], ...body }),
    /** The events that take place, in their order. */
    async list() {
      const { body } = await door.get<{ items: CalendarEvent[] }>(`${events}?start=${at(-2)}&end=${at(30)}`)
      return body.items
    },
    get: async (id: string) => (await door.get<CalendarEventWithBody>(`${events}/${id}`)).body,
    /** Expects the provider, the index and the feed to be alike, before and after a look. */
    async settle() {
      await expectEqualIndex(door.db, account, initial)
      const count = (await readCalendarFeed(door.db, account.id)).length
      await account.pass()
      await account.pass()
      await expectEqualIndex(door.db, account, initial)
      expect(await readCalendarFeed(door.db, account.id)).toHaveLength(count)
    },
    async occurrences() {
      const items = await this.list()
      return items.map(({ id }) => id)
    },
  }
}

const inShort = (items: readonly CalendarEvent[]) =>
  items.map(({ kind, start, subject }) => `${kind} ${start.dateTime?.slice(0, 13)} ${subject}`)
const short = (kind: string, days: number, subject: string, hours = 9) =>
  `${kind} ${at(days, hours).slice(0, 13)} ${subject}`

describe.each(['files', 'members'] as const)('writing events of calendars that are told as %s', kind => {
  test('creates a single with every field, once', async () => {
    const account = await openWritten(kind)
    const body = {
      calendarId: account.first,
      subject: 'Review',
      location: 'Room 1',
      start: { dateTime: '2027-01-04T09:00:00', timeZone: 'Europe/Berlin' },
      end: { dateTime: '2027-01-04T09:30:00', timeZone: 'America/New_York' },
      body: { content: 'Two\nlines' },
      attendees: [{ address: 'Ben@example.com', name: 'Ben' }, { address: 'ben@example.com' }],
      showAs: 'tentative',
      sensitivity: 'private',
      reminderMinutes: 30,
      onlineMeetingUrl: 'https://meet.example.com/x',
    }
    const headers = { 'idempotency-key': `create-${kind}` }
    const answer = await door.post<CalendarEventWithBody>(account.events, body, headers)
    expect(answer).toMatchObject({
      status: 200,
      body: {
        kind: 'single',
        calendarId: account.first,
        subject: 'Review',
        location: 'Room 1',
        start: { dateTime: '2027-01-04T08:00:00.000Z', timeZone: 'Europe/Berlin' },
        end: { dateTime: '2027-01-04T14:30:00.000Z', timeZone: 'America/New_York' },
        body: { contentType: 'text', content: 'Two\nlines' },
        attendees: [{ address: 'Ben@example.com', name: 'Ben', type: 'required', response: 'needs_action' }],
        isOrganizer: true,
        selfResponse: 'organizer',
        showAs: 'tentative',
        sensitivity: 'private',
        reminderMinutes: 30,
        onlineMeetingUrl: 'https://meet.example.com/x',
      },
    })
    expect(await account.get(answer.body.id)).toEqual(answer.body)
    expect((await door.post(account.events, body, headers)).body).toEqual(answer.body)
    expect(account.memory.items.size).toBe(1)
    await account.pass()
    expect((await readCalendarFeed(door.db, account.id)).map(({ type }) => type)).toEqual([
      'calendar.initialized',
      'calendar_event.created',
    ])
  })

  test('answers an event that ended before the window, and does not show it', async () => {
    const account = await openWritten(kind)
    const event = await account.create({ ...hour(-300), subject: 'Long ago' })
    expect(event).toMatchObject({ kind: 'single', subject: 'Long ago', start: { dateTime: at(-300) } })
    expect(await door.get(`${account.events}/${event.id}`)).toMatchObject({ status: 404 })
    expect(account.memory.items.size).toBe(1)
  })

  test('changes an occurrence, which keeps its id', async () => {
    const account = await openWritten(kind)
    const series = await account.createSeries()
    const [, second = ''] = await account.occurrences()
    const answer = await door.patch(`${account.events}/${second}`, { start: time(1, 14), subject: 'Late' })
    expect(answer).toMatchObject({
      status: 200,
      body: {
        id: second,
        kind: 'exception',
        seriesId: series.id,
        subject: 'Late',
        start: { dateTime: at(1, 14) },
        end: { dateTime: at(1, 15) },
        originalStart: at(1),
      },
    })
    expect(inShort(await account.list())).toEqual([
      short('occurrence', 0, 'Daily'),
      short('exception', 1, 'Late', 14),
      ...[2, 3, 4].map(nth => short('occurrence', nth, 'Daily')),
    ])
    await account.settle()
  })

  test('splits a series, whose later exceptions go over', async () => {
    const account = await openWritten(kind)
    const series = await account.createSeries()
    const ids = await account.occurrences()
    await door.patch(`${account.events}/${ids[3]}`, { subject: 'Odd' })
    const { status, body } = await door.patch<CalendarEventWithBody>(
      `${account.events}/${ids[2]}?scope=following`,
      { start: time(2, 12), subject: 'Noon' },
    )
    expect(status).toBe(200)
    expect(body).toMatchObject({ kind: 'series', subject: 'Noon', recurrence: ['RRULE:FREQ=DAILY;COUNT=3'] })
    expect(body.id).not.toBe(series.id)
    expect(inShort(await account.list())).toEqual([
      ...[0, 1].map(nth => short('occurrence', nth, 'Daily')),
      short('occurrence', 2, 'Noon', 12),
      short('exception', 3, 'Odd', 12),
      short('occurrence', 4, 'Noon', 12),
    ])
    await account.settle()
    const feed = await readCalendarFeed(door.db, account.id)
    expect(
      feed
        .slice(-4)
        .map(({ type, data }) => `${type} ${data.event?.kind}`)
        .toSorted(),
    ).toEqual([
      'calendar_event.created exception',
      'calendar_event.created series',
      'calendar_event.deleted exception',
      'calendar_event.updated series',
    ])
  })

  test('changes a whole series from one of its occurrences', async () => {
    const account = await openWritten(kind)
    const series = await account.createSeries()
    const ids = await account.occurrences()
    await door.patch(`${account.events}/${ids[3]}`, { subject: 'Odd' })
    await door.delete(`${account.events}/${ids[1]}`)
    const answer = await door.patch(`${account.events}/${ids[2]}?scope=series`, { start: time(2, 10) })
    expect(answer).toMatchObject({
      status: 200,
      body: { id: series.id, start: { dateTime: at(0, 10) }, cancelledStarts: [at(1, 10)] },
    })
    expect(inShort(await account.list())).toEqual([
      short('occurrence', 0, 'Daily', 10),
      short('occurrence', 2, 'Daily', 10),
      short('exception', 3, 'Odd', 10),
      short('occurrence', 4, 'Daily', 10),
    ])
    await account.settle()
  })

  test('takes following of the first occurrence for the whole series', async () => {
    const account = await openWritten(kind)
    const series = await account.createSeries()
    const ids = await account.occurrences()
    await door.delete(`${account.events}/${ids[0]}`)
    const change = { subject: 'All' }
    const answer = await door.patch(`${account.events}/${ids[1]}?scope=following`, change)
    expect(answer).toMatchObject({ status: 200, body: { id: series.id, kind: 'series', subject: 'All' } })
    expect(account.memory.items.size).toBe(1)
    await account.settle()
  })

  test('makes a single a series and back, and moves it to another calendar', async () => {
    const account = await openWritten(kind)
    const single = await account.create({ ...hour(0), subject: 'Once' })
    const at_ = `${account.events}/${single.id}`
    const series = await door.patch(at_, { recurrence: ['RRULE:FREQ=DAILY;COUNT=3', `EXDATE:${wall(1)}Z`] })
    expect(series).toMatchObject({
      status: 200,
      body: { id: single.id, kind: 'series', cancelledStarts: [at(1)] },
    })
    expect(await account.list()).toHaveLength(2)
    const moved = await door.patch(at_, { calendarId: account.second, subject: 'There' })
    expect(moved).toMatchObject({
      status: 200,
      body: { id: single.id, calendarId: account.second, subject: 'There' },
    })
    expect([...account.memory.items.values()].map(({ calendarKey }) => calendarKey)).toEqual([
      [...account.memory.calendars.keys()][1],
    ])
    await account.settle()
    const back = await door.patch(at_, { recurrence: null })
    expect(back).toMatchObject({ status: 200, body: { id: single.id, kind: 'single', recurrence: null } })
    expect(await account.list()).toHaveLength(1)
    await account.settle()
  })

  test('deletes an occurrence, those that follow, and the series', async () => {
    const account = await openWritten(kind)
    const series = await account.createSeries()
    const ids = await account.occurrences()
    const remove = (id = '', scope = '') => door.delete(`${account.events}/${id}${scope}`)
    expect(await remove(ids[1])).toMatchObject({ status: 200, body: null })
    expect(await account.get(series.id)).toMatchObject({ cancelledStarts: [at(1)] })
    expect(await remove(ids[3], '?scope=following')).toMatchObject({ status: 200 })
    expect(await account.occurrences()).toEqual([ids[0], ids[2]])
    await account.settle()
    expect(await remove(ids[2], '?scope=series')).toMatchObject({ status: 200 })
    expect(await account.list()).toEqual([])
    expect(account.memory.items.size).toBe(0)
    await account.settle()
    expect((await readCalendarFeed(door.db, account.id)).at(-1)).toMatchObject({
      type: 'calendar_event.deleted',
      data: { event: { id: series.id } },
    })
  })

  test('answers an invitation to an event and to one occurrence', async () => {
    const account = await openWritten(kind)
    const { email } = await door.db
      .selectFrom('account')
      .select('email')
      .where('id', '=', account.id)
      .executeTakeFirstOrThrow()
    const organizer = { name: 'Boss', address: 'boss@example.com' }
    const attendees = [{ name: null, address: email, type: 'required', response: 'needs_action' } as const]
    const [calendar = ''] = account.memory.calendars.keys()
    const utc = (days: number, hours: number) => ({ wall: wall(days, hours), zone: 'UTC' })
    account.memory.add(
      calendar,
      { start: utc(0, 9), end: utc(0, 10), subject: 'Asked', organizer, attendees },
      { recurrence: ['RRULE:FREQ=DAILY;COUNT=2'] },
    )
    await account.pass()
    const [first, second] = await account.list()
    const respond = (id = '', response = 'accepted') =>
      door.post(`${account.events}/${id}/respond`, { response, comment: 'Sure' })
    expect(await respond(second?.id, 'declined')).toMatchObject({
      status: 200,
      body: { id: second?.id, kind: 'exception', selfResponse: 'declined' },
    })
    expect(await respond(first?.seriesId ?? '')).toMatchObject({
      status: 200,
      body: { kind: 'series', selfResponse: 'accepted' },
    })
    account.memory.removesDeclined = true
    expect(await respond(first?.seriesId ?? '', 'declined')).toMatchObject({
      status: 200,
      body: { id: first?.seriesId, selfResponse: 'declined' },
    })
    expect(await account.list()).toEqual([])
    expect((await readCalendarFeed(door.db, account.id)).at(-1)).toMatchObject({
      type: 'calendar_event.deleted',
    })
  })
})
