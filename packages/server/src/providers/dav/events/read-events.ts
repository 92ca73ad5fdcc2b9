import { toMember } from '../../../kit/recurrence/member.ts'
import { readExceptionDates } from '../../../kit/recurrence/recurrence-dates.ts'
import { MEMBERS_MAX } from '../../../kit/recurrence/walk-rule.ts'
import { isDay } from '../../../kit/wall-clock.ts'
import type { ZoneDefinition } from '../../../kit/zones/vtimezone.ts'
import type { EventTime, RemoteEvent, RemoteException, RemoteItem } from '../../calendars.ts'
import { parameterOf } from '../../../kit/content-lines/content-line.ts'
import {
  type EventComponent,
  type FileContentLine,
  lineOf,
  linesOf,
  openEvents,
  UnreadableEvents,
} from './event-file.ts'
import type { ZoneOf } from './event-times.ts'
import { readEvent, readUid } from './read-event.ts'

/** The zone of a TZID with its VTIMEZONE, if the file has it. Null: times are floating. */
export type ResolveZone = (tzid: string, definition: ZoneDefinition | null) => string | null

export type EventsOfFile = Pick<RemoteItem, 'uid' | 'event' | 'recurrence' | 'guessedZones'> & {
  members: NonNullable<RemoteItem['members']>
}

/** Recurrence lines and TZIDs of one series that are read. More make it unreadable. */
const RECURRENCE_LINES_MAX = 1_000
const TZIDS_MAX = 100
const RECURRENCE: ReadonlySet<string> = new Set(['RRULE', 'EXRULE', 'RDATE'])

/**
 * Reads the event of a file: a single, or a series with its exceptions. Null if the file has other components only.
 *
 * A resource has one UID (RFC 4791 section 4.1). Of a file with several, the first one is read: an item has one key, under
 * which the others could be neither named nor written. An override for "this and future" members
 * (RFC 5545 section 3.2.13) makes the file unreadable, since it would move members that are not named.
 * @throws UnreadableEvents if it has no event with a start, or exceeds a bound
 */
export function readEvents(bytes: Buffer, resolveZone: ResolveZone): EventsOfFile | null {
  const file = openEvents(bytes)
  if (file.events.length === 0) {
    if (file.hasOthers) return null
    throw new UnreadableEvents('The file has no event')
  }
  const uid = readUid(file.events.find(one => !lineOf(one, 'RECURRENCE-ID')) ?? file.events[0]!)
  const zoneOf = keepZones((tzid: string) => resolveZone(tzid, file.zones.get(tzid) ?? null))
  const events = file.events.filter(one => readUid(one) === uid)
  const masters = events.filter(one => !lineOf(one, 'RECURRENCE-ID'))
  const read = new Map(masters.map(one => [one, readEvent(one, zoneOf)]))
  const master = latestOf(masters.filter(one => read.get(one) !== null))
  const event = master ? read.get(master)! : null
  const overrides = readOverrides(events, event?.start ?? null, zoneOf)
  if (!event && (masters.length > 0 || overrides.size === 0))
    throw new UnreadableEvents('The event has no start that can be read')
  const recurrence = master ? recurrenceOf(master) : null
  if (!recurrence && event) return { uid, event, recurrence, members: { exceptions: [], taken: [] } }
  return {
    uid,
    event,
    recurrence: recurrence ?? [],
    members: membersOf({ master, event, overrides }, zoneOf),
  }
}

/** Each TZID is resolved once. */
export function keepZones(resolve: (tzid: string) => string | null): ZoneOf {
  const zones = new Map<string, string | null>()
  return tzid => {
    const name = tzid.trim()
    if (!zones.has(name)) {
      if (zones.size === TZIDS_MAX)
        throw new UnreadableEvents(`The file has more than ${TZIDS_MAX} time zones`)
      zones.set(name, resolve(name))
    }
    return zones.get(name) ?? null
  }
}

/** The lines of its recurrence; null if it is a single. */
export function recurrenceOf(master: EventComponent): string[] | null {
  const lines = master.lines.filter(({ name, value }) => RECURRENCE.has(name) && value.trim() !== '')
  if (lines.length === 0) return null
  if (lines.length > RECURRENCE_LINES_MAX)
    throw new UnreadableEvents(`The event has more than ${RECURRENCE_LINES_MAX} lines of recurrence`)
  return lines.map(({ text }) => text)
}

interface Override {
  component: EventComponent
  /** Null if it takes the member from the series. */
  event: RemoteEvent | null
}

/** The overrides by their members; of two for one member the later revision. One without a start costs itself. */
function readOverrides(
  events: readonly EventComponent[],
  start: EventTime | null,
  zoneOf: ZoneOf,
): ReadonlyMap<string, Override> {
  const overrides = new Map<string, Override>()
  for (const component of events) {
    const line = lineOf(component, 'RECURRENCE-ID')
    if (!line) continue
    if (parameterOf(line, 'RANGE')?.toUpperCase() === 'THISANDFUTURE')
      throw new UnreadableEvents('The event has an override for all future members')
    const event = readEvent(component, zoneOf)
    if (!event) continue
    // Without its series, the start of the override shows in which zone and form members are.
    const member = memberOf(line, start ?? event.start, zoneOf)
    if (member === null) continue
    const before = overrides.get(member)
    if (before && latestOf([before.component, component]) === before.component) continue
    // Without the series, a cancelled member is shown as an exception.
    const isTaken = event.status === 'cancelled' && start !== null
    overrides.set(member, { component, event: isTaken ? null : event })
  }
  return overrides
}

/** The member that an override is of. A day names the member of that day at the time of the start. */
export function memberOf(line: FileContentLine, start: EventTime, zoneOf: ZoneOf): string | null {
  const member = toMember(line.value, line.parameters, start, zoneOf)
  return member !== null && isDay(member) && !isDay(start.wall) ? `${member}${start.wall.slice(8)}` : member
}

interface Series {
  master: EventComponent | null
  event: RemoteEvent | null
  overrides: ReadonlyMap<string, Override>
}

function membersOf({ master, event, overrides }: Series, zoneOf: ZoneOf): EventsOfFile['members'] {
  const exceptions: RemoteException[] = []
  const taken = new Set<string>()
  for (const [member, override] of overrides) {
    if (override.event) exceptions.push({ member, key: null, event: override.event })
    else taken.add(member)
  }
  if (!master || !event) return { exceptions, taken: [...taken] }
  const { members, isTruncated } = readExceptionDates(linesOf(master, 'EXDATE'), event.start, zoneOf)
  if (isTruncated) throw new UnreadableEvents(`The series lacks more than ${MEMBERS_MAX} members`)
  // An override is the later word on its member.
  for (const member of members) if (!overrides.has(member)) taken.add(member)
  return { exceptions, taken: [...taken] }
}

/** The latest revision of a component (RFC 5546 section 2.1.5); of equal ones the last. */
export function latestOf(components: readonly EventComponent[]): EventComponent | null {
  return components.reduce<EventComponent | null>((best, one) => {
    if (!best) return one
    const [before, now] = [revisionOf(best), revisionOf(one)]
    const isLater =
      now.sequence === before.sequence ? now.stamp >= before.stamp : now.sequence > before.sequence
    return isLater ? one : best
  }, null)
}

function revisionOf(event: EventComponent): { sequence: number; stamp: string } {
  const value = (line: FileContentLine | undefined) => line?.value.trim() ?? ''
  const sequence = Number.parseInt(value(lineOf(event, 'SEQUENCE')), 10)
  return { sequence: Number.isNaN(sequence) ? 0 : sequence, stamp: value(lineOf(event, 'DTSTAMP')) }
}
