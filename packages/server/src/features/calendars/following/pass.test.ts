import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openCalendarDoor, readCalendarFeed } from '../../../../test/calendar-door.ts'
import { type HeldItem, type MemoryCalendars, PLAIN_EVENT } from '../../../../test/memory-calendars.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { type Random, seeded } from '../../../../test/seeded.ts'
import { seedsFor } from '../../../../test/sync/disturbance.ts'
import { SECOND_LOOK_SECONDS, Doubts } from '../../../sync/doubts.ts'
import { DAY_MS, printWall, requireWall } from '../../../kit/wall-clock.ts'
import { derivedId } from '../../../kit/ids.ts'
import type { Db } from '../../../database/pool.ts'
import { type EventRow, eventColumns } from '../events/event-row.ts'
import { presentEvent } from '../events/present.ts'

const SEEDS = seedsFor(3)
const PASSES = 25
const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS
const HOUR_MS = 3_600_000

class Killed extends Error {}

const wallOf = (time: number) => printWall(time)
const timesAt = (time: number) => ({
  start: { wall: wallOf(time), zone: 'UTC' },
  end: { wall: wallOf(time + HOUR_MS), zone: 'UTC' },
})

/** Another client of an account, and kills of the process that follows it. */
class History {
  readonly #memory: MemoryCalendars
  readonly #random: Random
  #names = 0
  isOver = false

  constructor(memory: MemoryCalendars, random: Random) {
    this.#memory = memory
    this.#random = random
    for (let nth = 0; nth < 6; nth++) this.#add()
  }

  /** Called wherever the provider awaits. */
  disturb(): void {
    if (this.isOver) return
    if (this.#random.chance(0.4)) this.#act()
    if (this.#random.chance(0.08)) throw new Killed()
  }

  #add(): void {
    const calendar = this.#random.pick([...this.#memory.calendars.keys()])
    const isSeries = this.#random.chance(0.5)
    const recurrence = isSeries ? [`RRULE:FREQ=DAILY;COUNT=${this.#random.pick([3, 5, 8])}`] : null
    const start = TODAY + this.#random.pick([1, 2, 3, 4, 5]) * DAY_MS + 9 * HOUR_MS
    this.#memory.add(calendar, { ...timesAt(start), subject: this.#name() }, { recurrence })
  }

  #name(): string {
    return `Name ${++this.#names}`
  }

  #act(): void {
    const [memory, random] = [this.#memory, this.#random]
    const items = [...memory.items.values()]
    const item = items.length === 0 ? null : random.pick(items)
    const act = random.next()
    if (!item || act < 0.2) this.#add()
    else if (act < 0.35) memory.update(item.key, { subject: this.#name() })
    else if (act < 0.45) memory.remove(item.key)
    else if (act < 0.5) memory.loseCursors()
    else if (act < 0.55) memory.update(item.key, {}, item.recurrence ? null : ['RRULE:FREQ=DAILY;COUNT=4'])
    else this.#changeMember(item)
  }

  #changeMember({ key, event, recurrence, members }: HeldItem): void {
    if (!event || !recurrence) return
    const random = this.#random
    const start = requireWall(event.start.wall) + random.pick([0, 1, 2]) * DAY_MS
    const member = wallOf(start)
    if (members.has(member) && random.chance(0.4)) this.#memory.clearMember(key, member)
    else if (random.chance(0.3)) this.#memory.setMember(key, member, null)
    else
      this.#memory.setMember(key, member, {
        ...PLAIN_EVENT,
        ...timesAt(start + 2 * HOUR_MS),
        subject: this.#name(),
      })
  }
}

/** The spans that the index should have, made from its items without the code that is tested. */
function expected({ items }: MemoryCalendars): string[] {
  const lines = [...items.values()].flatMap(({ event, recurrence, members }) => {
    if (!event) return []
    const start = requireWall(event.start.wall)
    const count = recurrence ? Number(/COUNT=(\d+)/.exec(recurrence[0] ?? '')?.[1]) : 1
    const left = new Map(members)
    const given = Array.from({ length: count }, (_, nth) => wallOf(start + nth * DAY_MS))
    const own = given.flatMap(member => {
      const held = left.get(member)
      left.delete(member)
      if (!held) return [`${member} ${event.subject}`]
      return held.event ? [`${held.event.start.wall} ${held.event.subject}`] : []
    })
    const others = [...left.values()].flatMap(held =>
      held.event ? [`${held.event.start.wall} ${held.event.subject}`] : [],
    )
    return [...own, ...others]
  })
  return lines.toSorted()
}

async function readIndex(db: Db, accountId: string) {
  const { rows: spans } = await sql<{ id: string; start_wall: string; subject: string; kind: string }>`
    select span.id, start_wall, shown ->> 'subject' as subject, kind
    from calendar_span as span join calendar_event on calendar_event.id = event_id
    where span.account_id = ${accountId}
  `.execute(db)
  const { rows: events } = await sql<EventRow>`
    select ${eventColumns} from calendar_event where account_id = ${accountId}
  `.execute(db)
  return { spans, events }
}

/** The events that a consumer has who follows the feed. It drops the exceptions of a series with it. */
function fold(feed: Awaited<ReturnType<typeof readCalendarFeed>>, initial: readonly CalendarEvent[]) {
  const events = new Map(initial.map(event => [event.id, event]))
  for (const { type, data } of feed) {
    const { event } = data
    if (!event) continue
    if (type === 'calendar_event.created') expect(events.has(event.id)).toBe(false)
    if (type === 'calendar_event.updated') expect(data.changes).not.toEqual([])
    if (type !== 'calendar_event.deleted') events.set(event.id, event)
    else {
      expect(events.delete(event.id)).toBe(true)
      for (const { id, seriesId } of events.values()) if (seriesId === event.id) events.delete(id)
    }
  }
  return events
}

const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1)
/** A change of these alone is no event. */
const withoutTime = (event: CalendarEvent) => ({ ...event, updatedAt: null })

test.each(SEEDS.flatMap(seed => (['files', 'members'] as const).map(kind => ({ seed, kind }))))(
  'after the random history $seed of calendars told as $kind, the index holds what the provider holds',
  async ({ seed, kind }) => {
    await using database = await openTestDatabase()
    await using door = await openCalendarDoor(database)
    const account = await door.openAccount(kind)
    const { memory } = account
    memory.createCalendar('second')
    const history = new History(memory, seeded(seed))
    await account.pass()
    const initial = (await readIndex(door.db, account.id)).events.flatMap(row => presentEvent(row) ?? [])
    memory.onAwait = () => history.disturb()
    for (let nth = 0; nth < PASSES; nth++)
      await account.pass().catch((error: unknown) => {
        if (!(error instanceof Killed)) throw error
      })
    history.isOver = true
    for (let nth = 0; nth < 2; nth++) await account.pass()

    const { spans, events } = await readIndex(door.db, account.id)
    expect(spans.map(({ start_wall, subject }) => `${start_wall} ${subject}`).toSorted()).toEqual(
      expected(memory),
    )
    for (const { id, series_id: series, member } of events)
      if (series !== null) expect(id).toBe(derivedId(series, member ?? ''))
    const folded = [...fold(await readCalendarFeed(door.db, account.id), initial).values()]
    const shown = events.flatMap(row => presentEvent(row) ?? [])
    expect(folded.map(withoutTime).toSorted(byId)).toEqual(shown.map(withoutTime).toSorted(byId))
  },
)

test('a calendar that is emptied, or that is not listed, is asked for again before that is believed', async () => {
  await using database = await openTestDatabase()
  await using door = await openCalendarDoor(database)
  const account = await door.openAccount('files')
  const { memory } = account
  const [first = ''] = memory.calendars.keys()
  for (let nth = 0; nth < 120; nth++) memory.add(first, timesAt(TODAY + nth * HOUR_MS))
  const second = memory.createCalendar('second')
  memory.add(second, timesAt(TODAY))
  await account.pass()
  let now = 0
  const doubts = new Doubts(() => now)
  for (const { key, calendarKey } of memory.items.values()) if (calendarKey === first) memory.remove(key)
  memory.removeCalendar(second)
  await account.pass(doubts)
  await account.pass(doubts)
  expect((await readIndex(door.db, account.id)).spans).toHaveLength(121)
  now = SECOND_LOOK_SECONDS * 1_000
  await account.pass(doubts)
  expect((await readIndex(door.db, account.id)).spans).toEqual([])
  const feed = (await readCalendarFeed(door.db, account.id)).map(({ type }) => type)
  // The events of a deleted calendar go in silence.
  expect(feed.filter(type => type === 'calendar.deleted')).toHaveLength(1)
  expect(feed.filter(type => type === 'calendar_event.deleted')).toHaveLength(120)
})
