import { describe, expect, test } from 'vitest'
import type { CalendarsProvider, CalendarWindow, RemoteEvent } from '../calendars.ts'
import type { Offering } from '../connected-account.ts'
import type { Cursor } from '../mail.ts'
import { never } from './arrangement.ts'
import { type EventIndex, openEventIndex } from './event-index.ts'

/** An event as another client of the provider writes it. */
export interface WrittenEvent {
  subject: string
  /** The wall clock of its start in Europe/Berlin, or the first of its days. */
  start: string
  /** The wall clock of its end there, or the day after its last one. */
  end: string
  /** An RRULE, for a series. */
  rule?: string
}

/** The calendars of an account as another client changes them. Calendars and events are named by their keys. */
export interface CalendarsWorld {
  add(events: readonly WrittenEvent[]): Promise<string[]>
  rename(key: string, subject: string): Promise<void>
  remove(key: string): Promise<void>
  /** Gives a member of a series, named by the wall clock of its start, a subject of its own. */
  except(key: string, member: string, subject: string): Promise<void>
  /** Takes a member from a series. */
  take(key: string, member: string): Promise<void>
  /** Makes another calendar, and returns its name. */
  addCalendar(): Promise<string>
}

/** One account of its own at a provider that has calendars, with one empty calendar that `world` changes. */
export interface CalendarsArrangement extends AsyncDisposable {
  world: CalendarsWorld
  /** The key of the calendar. */
  calendarKey: string
  connect(): Promise<Offering<'calendars'>>
  /** A cursor that the provider does not take, made of one that it does. */
  spoil(cursor: Cursor): Cursor
  /** A key that no event has. */
  unknownKey: string
  /** Events that at least three steps bring. */
  eventsOfSteps: number
}

const WINDOW: CalendarWindow = {
  start: new Date('2026-09-01T00:00:00Z'),
  end: new Date('2027-11-29T00:00:00Z'),
}
const ZONE = 'Europe/Berlin'

const event = (number: number): WrittenEvent => ({
  subject: `Event Nº ${String(number).padStart(4, '0')}; "first, second"`,
  start: '20261201T090000',
  end: '20261201T103000',
})
const events = (count: number, from = 1) => Array.from({ length: count }, (_, index) => event(from + index))
const subjectsOf = (written: readonly WrittenEvent[]) => written.map(({ subject }) => subject)
/** Weekly through the change from winter to summer time. */
const SERIES: WrittenEvent = {
  subject: 'Weekly',
  start: '20270315T090000',
  end: '20270315T100000',
  rule: 'FREQ=WEEKLY;COUNT=5',
}

/** A connected account with the index of its calendar. */
interface Opened extends AsyncDisposable {
  calendars: CalendarsProvider
  index: EventIndex
}

async function open({ connect, calendarKey }: CalendarsArrangement): Promise<Opened> {
  const account = await connect()
  const calendar = (await account.calendars.listCalendars(never)).find(({ key }) => key === calendarKey)
  if (!calendar) throw new Error('the arrangement has no calendar')
  return {
    calendars: account.calendars,
    index: openEventIndex(calendar, WINDOW),
    [Symbol.asyncDispose]: () => account[Symbol.asyncDispose](),
  }
}

const hasChanged = async ({ calendars, index: { calendar, cursor } }: Opened) =>
  (await calendars.findChanged([{ calendar, cursor }], never)).has(calendar.key)

async function listed({ calendars, index }: Opened): Promise<Map<string, string>> {
  const all = new Map<string, string>()
  for await (const page of calendars.list(index.calendar, WINDOW, never))
    for (const { key, version } of page) all.set(key, version)
  return all
}

const eventAt = ({ index }: Opened, key: string): RemoteEvent | null => {
  const object = index.objects.get(key)
  return object?.type === 'item' ? object.event : null
}

/** Contract of every `CalendarsProvider`. `setUp` makes a new account for each test. */
export function describeCalendars(name: string, setUp: () => Promise<CalendarsArrangement>): void {
  describe(`${name}: following calendars`, () => {
    test('brings singles, events of whole days and series, and then only the end', async () => {
      await using arranged = await setUp()
      const day = { subject: 'Whole days', start: '20261224', end: '20261227' }
      const [single, days, series] = await arranged.world.add([event(1), day, SERIES])
      await using opened = await open(arranged)
      const { calendars, index } = opened

      expect(await hasChanged(opened)).toBe(true)
      await index.follow(calendars)

      expect(index.subjects()).toEqual([event(1).subject, 'Weekly', 'Whole days'])
      expect(eventAt(opened, single!)).toMatchObject({
        start: { wall: '20261201T090000', zone: ZONE },
        end: { wall: '20261201T103000', zone: ZONE },
        status: 'confirmed',
      })
      expect(eventAt(opened, days!)).toMatchObject({
        start: { wall: '20261224', zone: null },
        end: { wall: '20261227', zone: null },
      })
      const found = index.objects.get(series!)
      expect(found).toMatchObject({ type: 'item', event: { start: { wall: SERIES.start, zone: ZONE } } })
      expect(found?.type === 'item' && found.recurrence).toHaveLength(1)
      expect(index.items().filter(({ recurrence }) => recurrence === null)).toHaveLength(2)
      expect(index.unreadable.size).toBe(0)
      index.takeSteps()
      expect(await hasChanged(opened)).toBe(false)
      await index.follow(calendars)
      expect(index.takeSteps().map(({ type }) => type)).toEqual(['end'])
    })

    test('brings what another client created, changed and deleted since', async () => {
      await using arranged = await setUp()
      const [, changed, gone] = await arranged.world.add(events(4))
      await using opened = await open(arranged)
      const { calendars, index } = opened
      await index.follow(calendars)
      const before = index.objects.get(changed!)!.version

      await arranged.world.rename(changed!, 'Renamed')
      await arranged.world.remove(gone!)
      const [added] = await arranged.world.add(events(1, 10))
      expect(await hasChanged(opened)).toBe(true)
      await index.follow(calendars)

      expect(index.subjects()).toEqual([...[1, 4, 10].map(event).map(({ subject }) => subject), 'Renamed'])
      expect(index.objects.has(added!)).toBe(true)
      expect(index.objects.get(changed!)?.version).not.toBe(before)
      expect(await listed(opened)).toEqual(index.versions())
    })

    test('brings members that differ from their series, and members that were taken from it', async () => {
      await using arranged = await setUp()
      const [key] = await arranged.world.add([SERIES])
      await using opened = await open(arranged)
      const { calendars, index } = opened
      await index.follow(calendars)
      expect(index.members(key!)).toEqual({})

      await arranged.world.except(key!, '20270329T090000', 'Once')
      await arranged.world.take(key!, '20270405T090000')
      await index.follow(calendars)

      expect(index.members(key!)).toEqual({ '20270329T090000': 'Once', '20270405T090000': null })
      expect(index.subjects()).toEqual(['Weekly'])
      const fresh = openEventIndex(index.calendar, WINDOW)
      await fresh.follow(calendars)
      expect(fresh.objects).toEqual(index.objects)
    })

    test('can be broken off after any step and taken up again', async () => {
      await using arranged = await setUp()
      const count = arranged.eventsOfSteps
      await arranged.world.add(events(count))
      await using opened = await open(arranged)
      const { calendars, index } = opened

      let passes = 0
      while (!(await index.follow(calendars, 1)) && passes < 20) passes += 1

      expect(passes).toBeGreaterThanOrEqual(3)
      expect(index.subjects()).toEqual(subjectsOf(events(count)))
    })

    test('compares everything if the provider does not take the cursor, and loses nothing', async () => {
      await using arranged = await setUp()
      const [first, second] = await arranged.world.add(events(5))
      await using opened = await open(arranged)
      const { calendars, index } = opened
      await index.follow(calendars)
      index.takeSteps()

      await arranged.world.rename(first!, 'Renamed')
      await arranged.world.remove(second!)
      index.cursor = arranged.spoil(index.cursor!)
      await index.follow(calendars)

      expect(index.subjects()).toEqual([...subjectsOf(events(3, 3)), 'Renamed'])
      expect(index.comparisons).toBe(2)
      expect(await hasChanged(opened)).toBe(false)
    })

    test('brings an index that differs back to its listing if it is asked to compare everything', async () => {
      await using arranged = await setUp()
      const [lost, outdated, gone, kept] = await arranged.world.add(events(4))
      await using opened = await open(arranged)
      const { calendars, index } = opened
      await index.follow(calendars)
      const before = index.objects.get(kept!)

      await arranged.world.remove(gone!)
      index.objects.delete(lost!)
      index.objects.set(outdated!, { ...index.objects.get(outdated!)!, version: 'another' })
      index.cursor = null
      await index.follow(calendars)

      expect(await listed(opened)).toEqual(index.versions())
      expect([...index.objects.keys()].toSorted()).toEqual([kept, lost, outdated].toSorted())
      expect(index.objects.get(kept!)).toEqual(before)
    })

    test('reports every event of a calendar that was emptied as gone', async () => {
      await using arranged = await setUp()
      const keys = await arranged.world.add(events(3))
      await using opened = await open(arranged)
      const { calendars, index } = opened
      await index.follow(calendars)

      for (const key of keys) await arranged.world.remove(key)
      await index.follow(calendars)

      expect(index.objects.size).toBe(0)
      expect(await listed(opened)).toEqual(new Map())
    })

    test('lists the calendars', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      const added = await arranged.world.addCalendar()

      const found = await opened.calendars.listCalendars(never)

      expect(found.map(each => each.name)).toContain(added)
      expect(found.filter(({ key }) => key === arranged.calendarKey)).toHaveLength(1)
      expect(new Set(found.map(({ key }) => key)).size).toBe(found.length)
      expect(found.every(({ access }) => access === 'owner')).toBe(true)
    })

    test('reads events by their keys, and leaves out those that are gone', async () => {
      await using arranged = await setUp()
      const [one, two, three] = await arranged.world.add([event(1), event(2), SERIES])
      await using opened = await open(arranged)
      const { calendars, index } = opened
      await index.follow(calendars)
      await arranged.world.remove(two!)

      const keys = [three!, two!, one!, arranged.unknownKey]
      const read = await calendars.read({ calendarKey: arranged.calendarKey, keys, window: WINDOW }, never)

      const found = new Map(read.items.map(item => [item.key, item]))
      expect([...found.keys()].toSorted()).toEqual([one!, three!].toSorted())
      expect(found.get(one!)).toEqual(index.objects.get(one!))
      expect(found.get(three!)).toEqual(index.objects.get(three!))
      expect(read.unreadable).toEqual([])
    })

    test('reports a calendar that is gone', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      const calendar = { ...opened.index.calendar, key: `${opened.index.calendar.key}-gone` }

      const lost = openEventIndex(calendar, WINDOW)

      await expect(lost.follow(opened.calendars)).rejects.toMatchObject({ kind: 'not_found' })
    })
  })
}
