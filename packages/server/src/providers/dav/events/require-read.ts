import { comparedAddress } from '../../../kit/compared-address.ts'
import type { ContentLine } from '../../../kit/content-lines/content-line.ts'
import type { RemoteEvent } from '../../calendars.ts'
import type { EventChange } from '../../changing-calendars.ts'
import { toName } from '../../contact-text.ts'
import { ATTENDEES_MAX } from '../../event-people.ts'
import { toBody } from '../../event-text.ts'
import { instantIn } from './event-times.ts'
import { type EventNode, type EventTree, openTree } from './event-tree.ts'
import type { OpenEvent } from './open-edit.ts'
import type { EventsOfFile } from './read-events.ts'
import { UnwritableEvents } from './unwritable.ts'

/* Checks of a file before it is sent: that it is read as it was meant. */

const notAsMeant = () => new UnwritableEvents('It would not be read as it was meant')

/**
 * Checks that a file has the properties that it was to have, and no others.
 * @throws UnwritableEvents
 */
export function requireProperties(written: Buffer, { items }: EventTree): void {
  if (!areSame(openTree(written).items, items)) throw notAsMeant()
}

const isReadable = (item: EventNode['items'][number]) => item.type === 'component' || item.content !== null

function areSame(found: EventNode['items'], meant: EventNode['items']): boolean {
  const [some, others] = [found.filter(isReadable), meant.filter(isReadable)]
  return some.length === others.length && some.every((item, at) => isSame(item, others[at]!))
}

function isSame(found: EventNode['items'][number], meant: EventNode['items'][number]): boolean {
  if (found.type === 'component')
    return meant.type === 'component' && found.name === meant.name && areSame(found.items, meant.items)
  return meant.type === 'property' && isSameLine(found.content!, meant.content!)
}

const isSameLine = (found: ContentLine, meant: ContentLine): boolean =>
  found.value === meant.value &&
  found.rawName === meant.rawName &&
  found.parameters.length === meant.parameters.length &&
  found.parameters.every(({ raw }, at) => raw === printable(meant.parameters[at]!.raw))

/** The text of a parameter without control characters, which are left out when its line is written again. */
const printable = (raw: string): string => raw.replaceAll(/[\x00-\x08\x0a-\x1f\x7f]/g, '')

/** The part of an edit that shows in the event. */
export interface AskedFields {
  change: EventChange
  /** The member that has the fields; null: the single or the series. */
  member: string | null
  /** Whether the times are those of what has the fields. Times of another member move it. */
  hasTimes: boolean
}

/**
 * Checks that an event has the members and the fields that were asked for.
 * @throws UnwritableEvents
 */
export function requireRead(read: EventsOfFile | null, open: OpenEvent, asked: AskedFields): void {
  const { change, member, hasTimes } = asked
  const kept = new Set(open.overrides.flatMap(one => (one.event ? [one.member] : [])))
  const found = new Set(
    read ? [...read.members.exceptions.map(one => one.member), ...read.members.taken] : [],
  )
  const isWhole = read !== null && (read.event !== null) === (open.master !== null)
  if (!isWhole || [...kept].some(name => !found.has(name))) throw notAsMeant()
  const event =
    member === null ? read.event : read.members.exceptions.find(one => one.member === member)?.event
  if (!open.master) return
  if (!event || !isAsAsked(event, change)) throw notAsMeant()
  if (hasTimes && !hasAskedTimes(event, change)) throw notAsMeant()
  if (!hasAskedMembers(read, change)) throw notAsMeant()
}

function isAsAsked(
  event: RemoteEvent,
  { subject, location, body, attendees, showAs, sensitivity, reminderMinutes }: EventChange,
): boolean {
  return (
    (subject === undefined || event.subject === toName(subject ?? '')) &&
    // The link of a meeting may take the place of a location, and be added to a body.
    (!location || event.location === toName(location)) &&
    (body === undefined || hasBody(event, body)) &&
    (attendees === undefined || hasPeople(event, attendees)) &&
    (showAs === undefined || event.showAs === showAs) &&
    (sensitivity === undefined || event.sensitivity === sensitivity) &&
    (reminderMinutes === undefined || event.reminderMinutes === reminderMinutes)
  )
}

function hasBody({ body: found }: RemoteEvent, asked: RemoteEvent['body']): boolean {
  const content = toBody(asked?.content ?? '')
  if (content === null || !asked) return found === null
  const end = asked.contentType === 'html' ? content.search(/<\/body\s*>/i) : -1
  return (
    found?.contentType === asked.contentType &&
    found.content.startsWith(end === -1 ? content : content.slice(0, end))
  )
}

function hasPeople({ attendees }: RemoteEvent, asked: NonNullable<EventChange['attendees']>): boolean {
  const found = new Set(attendees.map(({ address }) => comparedAddress(address)))
  // More are not read.
  return found.size >= ATTENDEES_MAX || asked.every(({ address }) => found.has(comparedAddress(address)))
}

function hasAskedTimes({ start, end }: RemoteEvent, change: EventChange): boolean {
  const isAsked = (found: RemoteEvent['start'], asked: RemoteEvent['start'] | undefined) =>
    // A zone may have several names.
    !asked || (found.wall === asked.wall && instantIn(found) === instantIn(asked))
  return isAsked(start, change.start) && isAsked(end, change.end)
}

function hasAskedMembers(
  { recurrence: lines, members, event }: EventsOfFile,
  { recurrence }: EventChange,
): boolean {
  if (recurrence === undefined) return true
  if (recurrence === null || !event) return recurrence === null && lines === null
  const taken = new Set(members.taken)
  return (
    (lines ?? []).includes(`RRULE:${recurrence.rule}`) &&
    recurrence.taken.every(
      member => taken.has(member) || members.exceptions.some(one => one.member === member),
    )
  )
}
