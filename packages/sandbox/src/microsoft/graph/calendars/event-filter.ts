import { type CalendarEvent, instantAt } from '../../mailbox/occurrences.ts'
import { withPropertyIds } from '../extended.ts'
import { type Filter, type FilterSubject, parseFilter, type Value } from '../odata/filter.ts'
import { presentTime } from './event-times.ts'

type Kind = NonNullable<ReturnType<FilterSubject<CalendarEvent>['kindOf']>>

const UTC = { name: 'UTC', zone: 'UTC' }

/** Properties that a filter can compare, and by which events can be ordered. Times of events are texts in UTC. */
const VALUES: Readonly<Record<string, readonly [Kind, (event: CalendarEvent) => Value]>> = {
  id: ['text', event => event.id],
  subject: ['text', event => event.subject],
  icaluid: ['text', event => event.of.uid],
  type: ['text', event => event.type],
  showas: ['text', event => event.showAs],
  sensitivity: ['text', event => event.sensitivity],
  importance: ['text', event => event.importance],
  isallday: ['boolean', event => 'day' in event.start],
  iscancelled: ['boolean', event => event.isCancelled],
  isorganizer: ['boolean', event => event.of.isOrganizer],
  createddatetime: ['time', event => event.createdAt],
  lastmodifieddatetime: ['time', event => event.modifiedAt],
  originalstart: ['time', event => event.originalStart && instantAt(event.originalStart)],
  'start/datetime': ['text', event => presentTime(event.start, UTC).dateTime],
  'end/datetime': ['text', event => presentTime(event.end, UTC).dateTime],
  'organizer/emailaddress/address': ['text', event => event.of.organizer.address],
}

const COLLECTIONS: Readonly<Record<string, (event: CalendarEvent) => readonly unknown[]>> = {
  categories: event => event.categories,
  attendees: event => event.attendees.map(({ name, address }) => ({ emailAddress: { name, address } })),
  singlevalueextendedproperties: event => [...event.extended].map(([id, value]) => ({ id, value })),
}

const nameOf = (path: readonly string[]): string => path.join('/').toLowerCase()

const SUBJECT: FilterSubject<CalendarEvent> = {
  reader: path => VALUES[nameOf(path)]?.[1] ?? (() => null),
  lister: path => COLLECTIONS[nameOf(path)] ?? (() => []),
  kindOf: path => VALUES[nameOf(path)]?.[0] ?? (nameOf(path) in COLLECTIONS ? 'collection' : null),
}

export const eventFilter = (text: string): Filter<CalendarEvent> =>
  parseFilter(withPropertyIds(text), SUBJECT)

export const isEventOrder = (property: string): boolean => Object.hasOwn(VALUES, property)

export const eventReader = SUBJECT.reader
