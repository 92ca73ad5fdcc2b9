import { readLine } from '../../kit/content-lines/content-line.ts'
import { type SeriesStart, toMember } from '../../kit/recurrence/member.ts'
import { readExceptionDates } from '../../kit/recurrence/recurrence-dates.ts'
import { MEMBERS_MAX } from '../../kit/recurrence/walk-rule.ts'
import { WALL_TIME_END } from '../../kit/wall-clock.ts'
import { findNamedZone } from '../../kit/zones/named-zone.ts'
import { toInstant, toWall } from '../../kit/zones/zones.ts'
import type { RemoteItem, RemoteMember, RemoteObject, UnreadableItem } from '../calendars.ts'
import { ProviderFailure } from '../failure.ts'
import { type EventSurroundings, fieldsOf } from './event-fields.ts'
import {
  eventSchema,
  type GoogleEvent,
  type GoogleTime,
  type NamedEvent,
  namedSchema,
} from './event-schema.ts'
import { isAfterGap, readEventTime } from './event-times.ts'

/** Outcomes of reading events. */
export interface ReadEvents {
  objects: RemoteObject[]
  unreadable: UnreadableItem[]
  /** Keys of events that were deleted. */
  gone: string[]
}

/** An event that cannot be read. The message is the reason. */
class UnreadableEvent extends Error {}

/** Series of one reader whose starts are kept. */
const STARTS_MAX = 10_000

/** Reads the events of one calendar. It keeps the starts of the series that it came across. */
export class EventReader {
  readonly #starts = new Map<string, SeriesStart | null>()
  readonly #ask: (key: string) => Promise<unknown>

  /** @param ask asks for an event; null if it is gone */
  constructor(ask: (key: string) => Promise<unknown>) {
    this.#ask = ask
  }

  /** Reads answered events. An event that cannot be read does not keep others from being read. */
  async read(answered: readonly unknown[], around: EventSurroundings): Promise<ReadEvents> {
    const result: ReadEvents = { objects: [], unreadable: [], gone: [] }
    const members: Array<[NamedEvent, unknown]> = []
    for (const each of answered) {
      const named = requireNamed(each)
      if (named.recurringEventId) members.push([named, each])
      else if (named.status === CANCELLED) result.gone.push(named.id)
      else await add(result, named, () => this.#readItem(named, each, around))
    }
    const gone = new Set(result.gone)
    // Google may list members before their series.
    for (const [named, each] of members)
      if (named.status !== CANCELLED || !gone.has(named.recurringEventId!))
        await add(result, named, () => this.#readMember(named, each, around))
    return result
  }

  #readItem(named: NamedEvent, answered: unknown, around: EventSurroundings): RemoteItem {
    const event = readEvent(answered)
    const item = itemOf(named, event, around)
    if (item.recurrence) this.#keep(named.id, item.event?.start ?? null)
    return item
  }

  async #readMember(named: NamedEvent, answered: unknown, around: EventSurroundings): Promise<RemoteMember> {
    const seriesKey = named.recurringEventId!
    const isTaken = named.status === CANCELLED
    // A cancelled one may have neither start nor end.
    const event = readEvent(isTaken ? { ...(answered as object), start: {} } : answered)
    const { originalStartTime } = event
    const member = originalStartTime && (await this.#memberAt(originalStartTime, seriesKey, around.timeZone))
    if (!member) throw new UnreadableEvent('The event does not name its place in its series')
    return {
      type: 'member',
      key: named.id,
      version: versionOf(named),
      seriesKey,
      member,
      event: isTaken ? null : requireFields(event, around),
    }
  }

  /** The wall clock in the zone of the series at which the rule starts a member. */
  async #memberAt(time: GoogleTime, seriesKey: string, answerZone: string | null): Promise<string | null> {
    const original = readEventTime(time, answerZone)
    // A time without a zone, or one after a gap, can be told only by its series.
    const isNamed = findNamedZone(time.timeZone ?? '') !== null
    const isSure = !original || original.zone === null || (isNamed && !isAfterGap(original))
    const start = isSure ? null : await this.#findStart(seriesKey, answerZone)
    if (!start || !original) return original?.wall ?? null
    const instant = toInstant(original.wall, original.zone ?? 'UTC')
    // West of UTC, the last hours of the last year have no wall clock in UTC.
    return instant < WALL_TIME_END ? toMember(`${toWall(instant, 'UTC')}Z`, [], start) : null
  }

  async #findStart(key: string, answerZone: string | null): Promise<SeriesStart | null> {
    const kept = this.#starts.get(key)
    if (kept !== undefined) return kept
    const answered = await this.#ask(key)
    const { data } = eventSchema.safeParse(answered)
    return this.#keep(key, data ? readEventTime(data.start, answerZone) : null)
  }

  #keep(key: string, start: SeriesStart | null): SeriesStart | null {
    if (this.#starts.size === STARTS_MAX) this.#starts.clear()
    this.#starts.set(key, start)
    return start
  }
}

const CANCELLED = 'cancelled'

/** An event without an id would be missing from the listing unnoticed. */
export function requireNamed(answered: unknown): NamedEvent {
  const { data } = namedSchema.safeParse(answered)
  if (data) return data
  throw new ProviderFailure('unavailable', 'Google Calendar lists an event without an id.')
}

/** The version of an event. A cancelled member need not have an entity tag, and does not change any more. */
export function versionOf({ etag, status }: NamedEvent): string {
  return etag || (status ?? 'none')
}

/** Whether an event of a listing is one of its calendar, and not the trace of a deleted one. */
export const isHeld = ({ status, recurringEventId }: NamedEvent): boolean =>
  status !== CANCELLED || Boolean(recurringEventId)

async function add(
  { objects, unreadable }: ReadEvents,
  named: NamedEvent,
  read: () => RemoteObject | Promise<RemoteObject>,
): Promise<void> {
  try {
    objects.push(await read())
  } catch (error) {
    if (!(error instanceof UnreadableEvent)) throw error
    unreadable.push({ key: named.id, version: versionOf(named), reason: error.message })
  }
}

function readEvent(answered: unknown): GoogleEvent {
  const { data, error } = eventSchema.safeParse(answered)
  if (data) return data
  throw new UnreadableEvent(
    `The field ${error.issues[0]?.path.join('.') ?? ''} of the event has another form`,
  )
}

function requireFields(event: GoogleEvent, around: EventSurroundings) {
  const fields = fieldsOf(event, around)
  if (fields) return fields
  throw new UnreadableEvent('The event has no start that can be read')
}

function itemOf(named: NamedEvent, event: GoogleEvent, around: EventSurroundings): RemoteItem {
  const fields = requireFields(event, around)
  const item = {
    type: 'item',
    key: named.id,
    version: versionOf(named),
    // The id of an event stays when it moves to another calendar.
    uid: named.id,
    event: fields,
    members: null,
    occurrences: null,
  } as const
  const lines = event.recurrence ?? []
  if (lines.length === 0) return { ...item, recurrence: null }
  const contents = lines.flatMap(line => readLine(line) ?? [])
  const { members, isTruncated } = readExceptionDates(contents, fields.start)
  if (isTruncated) throw new UnreadableEvent(`The series lacks more than ${MEMBERS_MAX} members`)
  return {
    ...item,
    recurrence: lines.filter(line => /^(?:RRULE|EXRULE|RDATE)[:;]/i.test(line)),
    ...(members.size > 0 && { excluded: [...members] }),
  }
}
