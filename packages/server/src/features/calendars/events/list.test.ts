import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import type { Calendar } from '@waxwing/contract/calendars/calendars.ts'
import { Temporal } from 'temporal-polyfill'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { openCalendarDoor } from '../../../../test/calendar-door.ts'
import { PLAIN_EVENT } from '../../../../test/memory-calendars.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { type Random, seeded } from '../../../../test/seeded.ts'
import { seedsFor } from '../../../../test/sync/disturbance.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'

type Door = Awaited<ReturnType<typeof openCalendarDoor>>
type Account = Awaited<ReturnType<Door['openAccount']>>
type Page = { items: CalendarEvent[]; nextCursor: string | null }

const opened = new AsyncDisposableStack()
let door: Door
beforeAll(async () => {
  door = opened.use(await openCalendarDoor(opened.use(await openTestDatabase())))
})
afterAll(() => opened.disposeAsync())

/** Zones from −11 to +14 hours. */
const ZONES = [
  'Pacific/Pago_Pago',
  'America/St_Johns',
  'UTC',
  'Asia/Kathmandu',
  'Pacific/Kiritimati',
] as const

const zoneBefore = process.env['TZ']
afterEach(() => {
  if (zoneBefore === undefined) delete process.env['TZ']
  else process.env['TZ'] = zoneBefore
})

function useHostZone(zone: string): void {
  process.env['TZ'] = zone
  const { offsetNanoseconds } = Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(zone)
  expect(new Date(0).getTimezoneOffset() * 60e9 + offsetNanoseconds).toBe(0)
}

async function list({ path }: Account, query: string): Promise<CalendarEvent[]> {
  const items: CalendarEvent[] = []
  for (let cursor = ''; ;) {
    const { status, body } = await door.get<Page>(`${path}/calendar-events?${query}${cursor}`)
    expect(status).toBe(200)
    items.push(...body.items)
    if (body.nextCursor === null) return items
    cursor = `&cursor=${encodeURIComponent(body.nextCursor)}`
  }
}

const printed = (instant: number) => new Date(instant).toISOString()
const rangeOf = (start: number, end: number) => `start=${printed(start)}&end=${printed(end)}`

/** A wall clock of a day, with the hour, in the form that the index uses. */
const compact = (time: Temporal.PlainDateTime) =>
  time.toString({ smallestUnit: 'second' }).replaceAll(/[-:]/g, '')
const TODAY = Temporal.Now.plainDateISO('UTC')

/** An event as the oracle knows it. All its members have this length on the wall clock. */
interface Given {
  name: string
  calendar: string
  start: Temporal.PlainDateTime
  minutes: number
  /** Null: a floating time, or whole days. */
  zone: string | null
  isDays: boolean
  everyDays: number
  count: number
  taken: ReadonlySet<number>
  moved: ReadonlyMap<number, number>
}

/** A single, exception or occurrence of the oracle. */
interface Expected {
  name: string
  calendar: string
  start: number
  end: number
}

const instantOf = (time: Temporal.PlainDateTime, zone: string) => time.toZonedDateTime(zone).epochMilliseconds

function* membersOf(given: Given, unzoned: string): Generator<Expected> {
  const { name, calendar, minutes } = given
  const zone = given.isDays ? unzoned : (given.zone ?? unzoned)
  for (let nth = 0; nth < given.count; nth++) {
    if (given.taken.has(nth)) continue
    const start = given.start.add({ days: nth * given.everyDays }).add({ hours: given.moved.get(nth) ?? 0 })
    yield { name, calendar, start: instantOf(start, zone), end: instantOf(start.add({ minutes }), zone) }
  }
}

/** Whether something overlaps a range: without length, by its start. */
const isIn = ({ start, end }: Expected, from: number, to: number) =>
  start < to && (end > from || (start === end && start >= from))

class World {
  readonly #account: Account
  readonly #random: Random
  readonly calendars: Array<{ key: string; id: string; zone: string }> = []
  readonly given: Given[] = []

  constructor(account: Account, random: Random) {
    this.#account = account
    this.#random = random
  }

  async open(): Promise<void> {
    const { memory, path } = this.#account
    const [first = ''] = memory.calendars.keys()
    memory.updateCalendar(first, { timeZone: 'Pacific/Kiritimati' })
    memory.createCalendar('west', { timeZone: 'Pacific/Pago_Pago' })
    memory.createCalendar('none', { timeZone: null })
    for (const key of memory.calendars.keys())
      for (let nth = 0; nth < 14; nth++) this.#add(key, `${memory.calendars.get(key)!.name} ${nth}`)
    await this.#account.pass()
    const { body } = await door.get<{ items: Calendar[] }>(`${path}/calendars`)
    for (const [key, { name, timeZone }] of memory.calendars) {
      const { id } = body.items.find(calendar => calendar.name === name)!
      this.calendars.push({ key, id, zone: timeZone ?? 'Pacific/Kiritimati' })
    }
  }

  #add(calendar: string, name: string): void {
    const random = this.#random
    const isDays = random.chance(0.25)
    const minutes = isDays
      ? 1440 * random.pick([1, 2, 40])
      : random.pick([0, 30, 60, 1439, 1440, 1441, 3 * 1440, 40 * 1440])
    const day = TODAY.add({ days: random.between(-60, 200) })
    const start = isDays
      ? day.toPlainDateTime()
      : day.toPlainDateTime({ hour: random.between(0, 23), minute: random.pick([0, 30, 45]) })
    const isSeries = random.chance(0.5)
    const given: Given = {
      name,
      calendar,
      start,
      minutes,
      zone: isDays ? null : random.pick([null, 'UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu']),
      isDays,
      everyDays: isSeries ? random.pick([1, 7, 14]) : 1,
      count: isSeries ? random.between(2, 12) : 1,
      taken: new Set(isSeries ? [random.between(0, 12)] : []),
      moved: new Map(isSeries && !isDays ? [[random.between(1, 12), random.pick([-30, 5, 200])]] : []),
    }
    this.given.push(given)
    this.#write(given)
  }

  #write(given: Given): void {
    const { memory } = this.#account
    const { name, calendar, start, minutes, zone, isDays, everyDays, count } = given
    const timesAt = (at: Temporal.PlainDateTime) => ({
      start: { wall: print(at), zone },
      end: { wall: print(at.add({ minutes })), zone },
    })
    const print = (at: Temporal.PlainDateTime) => (isDays ? compact(at).slice(0, 8) : compact(at))
    const rule = everyDays === 1 ? 'FREQ=DAILY' : `FREQ=WEEKLY;INTERVAL=${everyDays / 7}`
    const recurrence = count > 1 ? [`RRULE:${rule};COUNT=${count}`] : null
    const { key } = memory.add(calendar, { ...timesAt(start), subject: name }, { recurrence })
    for (let nth = 0; nth < count; nth++) {
      const at = start.add({ days: nth * everyDays })
      const hours = given.moved.get(nth)
      if (given.taken.has(nth)) memory.setMember(key, print(at), null)
      else if (hours !== undefined)
        memory.setMember(key, print(at), { ...PLAIN_EVENT, ...timesAt(at.add({ hours })), subject: name })
    }
  }

  expected(): Expected[] {
    const zoneOf = new Map(this.calendars.map(({ key, zone }) => [key, zone]))
    return this.given.flatMap(given => [...membersOf(given, zoneOf.get(given.calendar)!)])
  }
}

const byText = (one: string, other: string) => (one < other ? -1 : 1)

/** The text by which a listed event is compared. A day has no instant of its own. */
function listedAs({ subject, start, end }: CalendarEvent, days: ReadonlyMap<string, string>): string {
  const zone = days.get(subject!)
  const instant = ({ dateTime, date }: CalendarEvent['start']) =>
    dateTime ?? printed(instantOf(Temporal.PlainDate.from(date!).toPlainDateTime(), zone!))
  return `${subject} ${instant(start)} ${instant(end)}`
}

describe.each(seedsFor(2))('the list of the random calendars %i', seed => {
  test('has what overlaps a range, in the order of the starts, in pages of any size, on any host', async () => {
    const random = seeded(seed)
    const account = await door.openAccount(random.pick(['files', 'members']))
    const world = new World(account, random)
    await world.open()
    const all = world.expected()
    const days = new Map(
      world.given.map(({ name, calendar }) => [
        name,
        world.calendars.find(({ key }) => key === calendar)!.zone,
      ]),
    )
    const edges = all.flatMap(({ start, end }) => [start, end])
    for (let nth = 0; nth < 40; nth++) {
      useHostZone(random.pick(ZONES))
      // Right at edges, and a millisecond beside them.
      const from = random.pick(edges) + random.pick([-1, 0, 0, 1])
      const to = Math.max(
        from + 1,
        random.pick([from + DAY_MS, random.pick(edges) + random.pick([-1, 0, 1])]),
      )
      const calendar = random.chance(0.3) ? random.pick(world.calendars) : null
      const wanted = all.filter(each => isIn(each, from, to) && (!calendar || each.calendar === calendar.key))
      const query = `${rangeOf(from, to)}${calendar ? `&calendarId=${calendar.id}` : ''}`
      const items = await list(account, `${query}&limit=${random.pick([2, 7, 500])}`)
      const lines = items.map(item => listedAs(item, days))
      expect(lines.toSorted(byText)).toEqual(
        wanted.map(({ name, start, end }) => `${name} ${printed(start)} ${printed(end)}`).toSorted(byText),
      )
      expect(lines.map(line => line.split(' ').at(-2)!)).toEqual(
        wanted.map(({ start }) => printed(start)).toSorted(),
      )
      expect(items.every(({ kind }) => kind !== 'series')).toBe(true)
    }
  })
})

describe.each(['Pacific/Pago_Pago', 'UTC', 'Pacific/Kiritimati'])('on a host in %s', hostZone => {
  test.each(ZONES)('whole days and floating times lie in the zone of their calendar, %s', async zone => {
    useHostZone(hostZone)
    const account = await door.openAccount('files')
    const { memory } = account
    const [calendar = ''] = memory.calendars.keys()
    memory.updateCalendar(calendar, { timeZone: zone })
    const day = TODAY.add({ days: 20 })
    const at = (days: number, minutes = 0) => compact(day.add({ days }).toPlainDateTime().add({ minutes }))
    const add = (subject: string, start: string, end: string) =>
      memory.add(calendar, { subject, start: { wall: start, zone: null }, end: { wall: end, zone: null } })
    add('ends at the start', at(0, -60), at(0))
    add('ends a minute later', at(0, -60), at(0, 1))
    add('ends a day after it began', at(-1, 1), at(0, 1))
    add('is long', at(-40), at(0, 1))
    add('is long and ends at the start', at(-40), at(0))
    add('has no length at the start', at(0), at(0))
    add('has no length before the start', at(0, -1), at(0, -1))
    add('is the day before', at(-1).slice(0, 8), at(0).slice(0, 8))
    add('is the first day', at(0).slice(0, 8), at(1).slice(0, 8))
    add('is the last day', at(1).slice(0, 8), at(2).slice(0, 8))
    add('is the day after', at(2).slice(0, 8), at(3).slice(0, 8))
    add('starts a minute before the end', at(2, -1), at(2, 60))
    add('starts at the end', at(2), at(2, 60))
    add('has no length at the end', at(2), at(2))
    await account.pass()
    const start = instantOf(day.toPlainDateTime(), zone)
    const listed = await list(
      account,
      rangeOf(start, instantOf(day.add({ days: 2 }).toPlainDateTime(), zone)),
    )
    expect(listed.map(({ subject }) => subject).toSorted()).toEqual([
      'ends a day after it began',
      'ends a minute later',
      'has no length at the start',
      'is long',
      'is the first day',
      'is the last day',
      'starts a minute before the end',
    ])
    expect(listed.find(({ isAllDay }) => isAllDay)).toMatchObject({
      start: { date: day.toString(), dateTime: null, timeZone: null },
      end: { date: day.add({ days: 1 }).toString(), dateTime: null },
    })
    expect(listed.find(({ subject }) => subject === 'has no length at the start')).toMatchObject({
      start: { dateTime: printed(start), date: null, timeZone: null },
    })
  })
})

test('pages neither lose nor repeat what stays while another client changes the rest', async () => {
  const random = seeded(1)
  const account = await door.openAccount('members')
  const { memory, path } = account
  const [calendar = ''] = memory.calendars.keys()
  const at = (hour: number) => {
    const start = TODAY.toPlainDateTime().add({ hours: hour })
    return {
      start: { wall: compact(start), zone: 'UTC' },
      end: { wall: compact(start.add({ hours: 1 })), zone: 'UTC' },
    }
  }
  for (let nth = 0; nth < 60; nth++) memory.add(calendar, { ...at(nth % 20), subject: `stays ${nth}` })
  const others = Array.from({ length: 40 }, (_, nth) =>
    memory.add(calendar, { ...at(nth % 20), subject: `moves ${nth}` }),
  )
  await account.pass()
  const seen: string[] = []
  const query = `${rangeOf(TODAY.toZonedDateTime('UTC').epochMilliseconds, TODAY.add({ days: 3 }).toZonedDateTime('UTC').epochMilliseconds)}&limit=7`
  for (let cursor = ''; ;) {
    const { body } = await door.get<Page>(`${path}/calendar-events?${query}${cursor}`)
    seen.push(...body.items.map(({ subject }) => subject!))
    if (body.nextCursor === null) break
    cursor = `&cursor=${encodeURIComponent(body.nextCursor)}`
    for (let nth = 0; nth < 4; nth++) {
      const { key } = random.pick(others)
      if (memory.items.has(key) && random.chance(0.3)) memory.remove(key)
      else if (memory.items.has(key)) memory.update(key, at(random.between(0, 20)))
      else memory.add(calendar, { ...at(random.between(0, 20)), subject: 'comes' })
    }
    await account.pass()
  }
  expect(seen.filter(subject => subject.startsWith('stays')).toSorted()).toEqual(
    Array.from({ length: 60 }, (_, nth) => `stays ${nth}`).toSorted(),
  )
})
