import { isDeepStrictEqual } from 'node:util'
import type { CalendarEvent, CalendarEventWithBody } from '@waxwing/contract/calendars/calendar-events.ts'
import { expect } from 'vitest'
import { derivedId } from '../../src/kit/ids.ts'
import type { Caller } from '../caller.ts'
import { readTakingPlace } from './caldav-account.ts'
import type { Announced } from './calendar-feed.ts'
import { inShort } from './google-calendars.ts'

/* The feed of calendars, and what a consumer makes of it. */

/** Start and subject of an event, as `20261201T090000Z Lunch`. */
export const lineOf = ({ start, subject }: CalendarEvent) =>
  `${inShort(start.dateTime ?? '')} ${subject ?? ''}`

/** The singles, series and exceptions of an account that take place, by their ids. */
export async function readAllEvents(caller: Caller, accountId: string): Promise<Map<string, CalendarEvent>> {
  const listed = await readTakingPlace(caller, accountId)
  const events = new Map(listed.filter(({ kind }) => kind !== 'occurrence').map(event => [event.id, event]))
  for (const { seriesId } of listed) {
    if (seriesId === null || events.has(seriesId)) continue
    const path = `/v1/accounts/${accountId}/calendar-events/${seriesId}`
    const { status, body } = await caller.get<CalendarEventWithBody>(path)
    const { body: _body, ...series } = body
    if (status === 200) events.set(seriesId, series)
  }
  return events
}

/** Checks that the ids of occurrences and exceptions follow from their series, which are in UTC. */
export function expectLastingIds(listed: readonly CalendarEvent[]): void {
  for (const { id, seriesId, kind, start, originalStart } of listed) {
    if (seriesId === null) continue
    const time = kind === 'exception' ? originalStart : start.dateTime
    const member = new Date(time ?? '').toISOString().slice(0, 19).replaceAll(/[-:]/g, '')
    expect(id, `${kind} of ${member}`).toBe(derivedId(seriesId, member))
  }
}

/**
 * The events that a consumer has who had some, and then read the feed.
 * @throws Error if the feed contradicts itself
 */
export function foldCalendars(
  before: ReadonlyMap<string, CalendarEvent>,
  feed: readonly Announced[],
): Map<string, CalendarEvent> {
  const held = new Map(before)
  for (const { type, event, calendar, changes } of feed) {
    // The events of a deleted calendar go in silence, as do the exceptions of a deleted series.
    if (type === 'calendar.deleted') drop(held, one => one.calendarId === calendar?.id)
    if (!event) continue
    const said = `${type} of the ${event.kind} ${event.subject} ${event.id}`
    const isKnown = held.has(event.id)
    if (isKnown !== (type !== 'calendar_event.created'))
      throw new Error(`${said}, ${isKnown ? 'which was there' : 'which was not there'}`)
    if (changes?.length === 0) throw new Error(`${said}, of which nothing changed`)
    if (type !== 'calendar_event.deleted') held.set(event.id, event)
    else drop(held, one => one.id === event.id || one.seriesId === event.id)
  }
  return held
}

/**
 * Where the events that the feed leads to differ from those of the index, in words.
 * @param after what is listed; a series is not if nothing of it takes place
 */
export function differingEvents(
  folded: ReadonlyMap<string, CalendarEvent>,
  after: ReadonlyMap<string, CalendarEvent>,
): string[] {
  const left = [...folded.values()].filter(({ id, kind }) => kind !== 'series' && !after.has(id))
  return [
    ...left.map(({ kind, subject }) => `the feed never said that the ${kind} ${subject} is gone`),
    ...[...after.values()].flatMap(event => {
      const [told, name] = [folded.get(event.id), `the ${event.kind} ${event.subject}`]
      if (!told) return [`the feed never said that ${name} exists`]
      const fields = (Object.keys(event) as Array<keyof CalendarEvent>).filter(
        // A change of this alone is no event.
        field => field !== 'updatedAt' && !isDeepStrictEqual(told[field], event[field]),
      )
      return fields.map(
        field =>
          `the feed has ${JSON.stringify(told[field])} as ${field} of ${name}, and the index ${JSON.stringify(event[field])}`,
      )
    }),
  ]
}

function drop(held: Map<string, CalendarEvent>, isGone: (event: CalendarEvent) => boolean): void {
  for (const event of held.values()) if (isGone(event)) held.delete(event.id)
}
