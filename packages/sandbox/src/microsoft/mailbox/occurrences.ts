import { DAY_MS, instantOf, type Moment, momentLike, wallOf } from '../../calendaring/moments.ts'
import type { EventFields, StoredEvent } from './event.ts'
import { occurrenceId, readOccurrenceId } from './ids.ts'
import type { Mailbox } from './mailbox.ts'
import { occurrenceDays } from './recurrence.ts'

/** A single event, a series, or one occurrence of a series, with the fields that it shows. */
export interface CalendarEvent extends EventFields {
  readonly of: StoredEvent
  readonly type: 'singleInstance' | 'seriesMaster' | 'occurrence' | 'exception'
  /** The day on which the rule has an occurrence; null for the others. */
  readonly day: number | null
  /** The start that the rule gives an occurrence. */
  readonly originalStart: Moment | null
  readonly immutableId: string
  readonly id: string
  readonly changeKey: string
  readonly createdAt: number
  readonly modifiedAt: number
}

/** An event itself: a single one or the master of a series. */
export const wholeEvent = (event: StoredEvent): CalendarEvent => ({
  ...event,
  of: event,
  type: event.recurrence === null ? 'singleInstance' : 'seriesMaster',
  day: null,
  originalStart: null,
})

const dayStarting = (moment: Moment): number => Math.floor(wallOf(moment) / DAY_MS)

/** The occurrence of a day as the series has it; null if it has none there. */
export function occurrenceOn({ store }: Mailbox, series: StoredEvent, day: number): CalendarEvent | null {
  if (series.recurrence === null || series.deleted.has(day)) return null
  if (occurrenceDays(series.recurrence, day).at(-1) !== day) return null
  return occurrenceOf(store, series, day)
}

function occurrenceOf(store: string, series: StoredEvent, day: number): CalendarEvent {
  const exception = series.exceptions.get(day)
  const shift = (day - dayStarting(series.start)) * DAY_MS
  const start = momentLike(series.start, wallOf(series.start) + shift)
  const end: Moment =
    'at' in start && 'at' in series.start && 'at' in series.end
      ? { at: start.at + (series.end.at - series.start.at), zone: series.end.zone }
      : momentLike(series.end, wallOf(series.end) + shift)
  return {
    ...series,
    start,
    end,
    ...exception?.fields,
    of: series,
    type: exception ? 'exception' : 'occurrence',
    day,
    originalStart: start,
    immutableId: occurrenceId(store, { series: series.number, day, isImmutable: true }),
    id: occurrenceId(store, { series: series.number, day, isImmutable: false }),
    changeKey: exception?.changeKey ?? series.changeKey,
    createdAt: exception?.createdAt ?? series.createdAt,
    modifiedAt: exception?.modifiedAt ?? series.modifiedAt,
  }
}

/** A time from an instant until before another one, in milliseconds since 1970. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** The instant of a moment. Days begin at midnight in UTC, as Graph reads them if no zone is preferred. */
export const instantAt = (moment: Moment): number =>
  'day' in moment ? instantOf(wallOf(moment), 'UTC') : moment.at

export function isWithin({ start, end }: Pick<CalendarEvent, 'start' | 'end'>, { from, to }: Span): boolean {
  const [first, last] = [instantAt(start), instantAt(end)]
  return first < to && (last > from || (last === first && first >= from))
}

/** The parts of an event that take place in a time, in order: a single event itself, or the occurrences of a series. */
export function occurrencesIn(
  { store }: Pick<Mailbox, 'store'>,
  event: StoredEvent,
  span: Span,
): CalendarEvent[] {
  if (event.recurrence === null) {
    const single = wholeEvent(event)
    return isWithin(single, span) ? [single] : []
  }
  const last = Math.ceil(span.to / DAY_MS) + 1
  const days = new Set(occurrenceDays(event.recurrence, last))
  const length = Math.ceil((instantAt(event.end) - instantAt(event.start)) / DAY_MS) + 1
  const first = Math.floor(span.from / DAY_MS) - length - 1
  // An exception may have moved away from its day.
  return [...new Set([...[...days].filter(day => day >= first), ...event.exceptions.keys()])]
    .filter(day => !event.deleted.has(day))
    .map(day => occurrenceOf(store, event, day))
    .filter(one => isWithin(one, span))
    .toSorted(byStart)
}

export const byStart = (a: CalendarEvent, b: CalendarEvent): number =>
  instantAt(a.start) - instantAt(b.start) || a.of.number - b.of.number || (a.day ?? 0) - (b.day ?? 0)

/** Finds an event or an occurrence by its immutable id or by its other one. */
export function findEvent(mailbox: Mailbox, id: string): CalendarEvent | null {
  const { byId, byEvent } = mailbox.calendars
  const named = readOccurrenceId(mailbox.store, id)
  const number = named?.series ?? byId.get(id)
  const event = number === undefined ? undefined : byEvent.get(number)?.events.get(number)
  if (!event) return null
  return named ? occurrenceOn(mailbox, event, named.day) : wholeEvent(event)
}
