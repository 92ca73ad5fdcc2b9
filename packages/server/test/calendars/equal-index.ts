import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import { sql } from 'kysely'
import { expect } from 'vitest'
import type { Db } from '../../src/database/pool.ts'
import { type EventRow, eventColumns } from '../../src/features/calendars/events/event-row.ts'
import { presentEvent } from '../../src/features/calendars/events/present.ts'
import { derivedId } from '../../src/kit/ids.ts'
import { DAY_MS, printWall, requireWall } from '../../src/kit/wall-clock.ts'
import { readCalendarFeed } from '../calendar-door.ts'
import type { MemoryCalendars } from '../memory-calendars.ts'

/* Comparing the index of an account with its calendars in memory, whose events are in UTC, and whose series are daily. */

/** The days of a rule with COUNT or UNTIL. */
function countOf(rule: string, start: number): number {
  const [, count, until] = /(?:COUNT=(\d+)|UNTIL=(\w+)Z)/.exec(rule) ?? []
  return count ? Number(count) : Math.floor((requireWall(until ?? '') - start) / DAY_MS) + 1
}

/** The spans that the index should have, made from its items without the code that is tested. */
function expected({ items }: MemoryCalendars): string[] {
  const lines = [...items.values()].flatMap(({ event, recurrence, members }) => {
    if (!event) return []
    const start = requireWall(event.start.wall)
    const count = recurrence ? countOf(recurrence[0] ?? '', start) : 1
    const left = new Map(members)
    const given = Array.from({ length: count }, (_, nth) => printWall(start + nth * DAY_MS))
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

export async function readIndex(db: Db, accountId: string) {
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

/** The events that a consumer has who follows the feed. It drops the exceptions of a series, and the events of a calendar, with it. */
function fold(feed: Awaited<ReturnType<typeof readCalendarFeed>>, initial: readonly CalendarEvent[]) {
  const events = new Map(initial.map(event => [event.id, event]))
  for (const { type, data } of feed) {
    const { event, calendar } = data
    if (type === 'calendar.deleted')
      for (const { id, calendarId } of events.values()) if (calendarId === calendar?.id) events.delete(id)
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

/** The events of an account that the index shows. */
export async function readShown(db: Db, accountId: string): Promise<CalendarEvent[]> {
  return (await readIndex(db, accountId)).events.flatMap(row => presentEvent(row) ?? [])
}

/** Expects the index to hold what the provider holds, under ids that follow from their series, and the feed to tell it. */
export async function expectEqualIndex(
  db: Db,
  { id, memory }: { id: string; memory: MemoryCalendars },
  initial: readonly CalendarEvent[],
): Promise<void> {
  const { spans, events } = await readIndex(db, id)
  expect(spans.map(({ start_wall, subject }) => `${start_wall} ${subject}`).toSorted()).toEqual(
    expected(memory),
  )
  for (const event of events)
    if (event.series_id !== null) expect(event.id).toBe(derivedId(event.series_id, event.member ?? ''))
  const folded = [...fold(await readCalendarFeed(db, id), initial).values()]
  const shown = events.flatMap(row => presentEvent(row) ?? [])
  expect(folded.map(withoutTime).toSorted(byId)).toEqual(shown.map(withoutTime).toSorted(byId))
}
