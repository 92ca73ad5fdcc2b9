import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { addCalendar } from '../../../../../sandbox/src/microsoft/mailbox/calendars.ts'
import {
  changeEvent,
  deleteOccurrence,
  moveEvent,
} from '../../../../../sandbox/src/microsoft/mailbox/events.ts'
import { arrangeCalendars, dayOfWall, timesOf, weekly } from '../../../../test/graph/arrange-calendars.ts'
import { type GraphServer, startGraph } from '../../../../test/graph/graph-server.ts'
import type { CalendarWindow } from '../../calendars.ts'
import { never } from '../../conformance/arrangement.ts'
import { openEventIndex } from '../../conformance/event-index.ts'

let server: GraphServer

beforeAll(async () => {
  server = await startGraph()
})
afterAll(() => server[Symbol.asyncDispose]())

const WINDOW: CalendarWindow = {
  start: new Date('2026-09-01T00:00:00Z'),
  end: new Date('2027-11-29T00:00:00Z'),
}
const HOUR = timesOf('20261201T090000', '20261201T100000')
const CUSTOM = { startZone: 'tzone://Microsoft/Custom', endZone: 'tzone://Microsoft/Custom' }

async function open(options: Parameters<GraphServer['connect']>[1] = {}) {
  const arranged = arrangeCalendars(server)
  const { calendars } = server.connect(arranged.email, options)
  const indexOf = async (key = arranged.calendarKey) => {
    const found = (await calendars.listCalendars(never)).find(one => one.key === key)
    return openEventIndex(found!, WINDOW)
  }
  return { ...arranged, calendars, indexOf }
}

describe('the zone of a mailbox', () => {
  test('is the one of its calendars, and is asked for again after an hour', async () => {
    let now = Date.now()
    const { mailbox, calendars } = await open({ now: () => now })
    const zones = async () => (await calendars.listCalendars(never)).map(({ timeZone }) => timeZone)
    mailbox.timeZone = 'Pacific Standard Time'
    expect(await zones()).toEqual(['America/Los_Angeles'])
    mailbox.timeZone = 'Customized Time Zone'
    expect(await zones()).toEqual(['America/Los_Angeles'])
    now += 3_600_000
    expect(await zones()).toEqual([null])
  })

  test('is not known if the grant does not let it be read', async () => {
    const { calendars } = await open()
    server.intercept = ({ path }) =>
      path.includes('mailboxSettings')
        ? Response.json({ error: { code: 'ErrorAccessDenied' } }, { status: 403 })
        : null
    const [calendar] = await calendars.listCalendars(never)
    server.intercept = null
    expect(calendar?.timeZone).toBeNull()
  })
})

describe('an event of a custom zone', () => {
  test.each([
    ['Eastern Standard Time', '20270314T040000', 'America/New_York'],
    ['UTC', '20270314T080000', 'UTC'],
  ])('is shown in the zone of its mailbox, %s, and lacks only what was deleted', async (zone, wall, name) => {
    let counted = 0
    const count = { ended: () => {}, waited: () => {}, slot: () => {}, customZone: () => (counted += 1) }
    const { mailbox, calendars, indexOf, addEvent, event } = await open({ observer: count })
    mailbox.timeZone = zone
    const { main } = mailbox.calendars
    // Berlin's clocks change on 28 March, and New York's on 14 March.
    const { pattern, range } = weekly('20270314T090000', 5)
    const key = addEvent(
      { ...timesOf('20270314T090000', '20270314T100000'), ...CUSTOM },
      { pattern, range: { ...range, recurrenceTimeZone: CUSTOM.startZone } },
    )
    deleteOccurrence(mailbox, main, event(key), dayOfWall('20270404T090000'))
    const index = await indexOf()
    await index.follow(calendars)
    const [series] = index.items()
    expect(series?.event?.start.zone).toBe(name)
    expect(series?.members?.taken.map(member => member.slice(0, 8))).toEqual(['20270404'])
    expect(series?.occurrences?.map(({ member }) => member.slice(0, 8))).toEqual([
      '20270314',
      '20270321',
      '20270328',
      '20270411',
    ])
    expect(series?.occurrences?.[0]?.start.wall).toBe(wall)
    expect(counted).toBe(1)
  })
})

describe('a series', () => {
  const ZONE = 'America/New_York'
  test.each([
    ['has no start', { dateTime: 'soon' }],
    ['begins in no year that can be calculated', { dateTime: '9999-12-31T23:00:00', timeZone: ZONE }],
  ])('of which one occurrence %s is not read, and loses none', async (_, start) => {
    const { calendars, indexOf, addEvent, mailbox, event } = await open()
    const key = addEvent({ ...HOUR, startZone: ZONE, subject: 'Weekly' }, weekly('20261201T090000', 4))
    const index = await indexOf()
    await index.follow(calendars)
    const before = structuredClone(index.objects.get(key))
    changeEvent(mailbox, mailbox.calendars.main, event(key), { subject: 'Renamed' })
    server.intercept = ({ path }) =>
      path.includes('/instances')
        ? Response.json({ value: [{ id: 'one', type: 'occurrence', start }] })
        : null
    await index.follow(calendars)
    server.intercept = null
    expect(index.unreadable).toEqual(new Map([[key, null]]))
    expect(index.objects.get(key)).toEqual(before)
  })

  test('that is not found after its notice is asked for again', async () => {
    let now = Date.now()
    const { calendars, indexOf, addEvent } = await open({ now: () => now })
    const index = await indexOf()
    await index.follow(calendars)
    const key = addEvent({ ...HOUR, subject: 'New' }, weekly('20261201T090000', 4))
    const looks = async () =>
      (await calendars.findChanged([{ calendar: index.calendar, cursor: index.cursor }], never)).size > 0
    const hideIt = () => {
      server.intercept = ({ path }) =>
        path.includes(`/events/${encodeURIComponent(key)}`)
          ? Response.json({ error: { code: 'ErrorItemNotFound' } }, { status: 404 })
          : null
    }
    hideIt()
    await index.follow(calendars)
    expect([index.objects.size, await looks()]).toEqual([0, true])
    server.intercept = null
    await index.follow(calendars)
    expect([[...index.objects.keys()], await looks()]).toEqual([[key], false])

    // A series that never comes is given up.
    const other = addEvent({ ...HOUR, subject: 'Gone' }, weekly('20261201T090000', 4))
    server.intercept = ({ path }) =>
      path.includes(`/events/${encodeURIComponent(other)}`)
        ? Response.json({ error: { code: 'ErrorItemNotFound' } }, { status: 404 })
        : null
    await index.follow(calendars)
    now += 61_000
    await index.follow(calendars)
    expect(await looks()).toBe(false)
    server.intercept = null
  })
})

test('an event that another client moved is known by its UID', async () => {
  const { calendars, indexOf, addEvent, mailbox, event } = await open()
  const travel = addCalendar(mailbox, 'Travel', 'auto')
  const key = addEvent({ ...HOUR, subject: 'Flight' }, weekly('20261201T090000', 4))
  const [main, other] = [await indexOf(), await indexOf(travel.id)]
  await main.follow(calendars)
  const { uid } = main.items()[0]!
  moveEvent(mailbox, mailbox.calendars.main, travel, event(key))
  await main.follow(calendars)
  await other.follow(calendars)
  expect(main.items()).toEqual([])
  expect(other.items()).toMatchObject([{ uid, event: { subject: 'Flight' } }])
  expect(other.objects.has(key)).toBe(false)
  expect(uid).toMatch(/^040000008200E00074C5B7101A82E00800000000/)
})
