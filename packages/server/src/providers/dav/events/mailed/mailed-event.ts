import { type ContentLine, parameterOf } from '../../../../kit/content-lines/content-line.ts'
import type { MailedEvent } from '../../../changing-calendars.ts'
import { addressOf, ownLines } from '../edit-attendees.ts'
import { componentsOf, type EventNode, openTree, propertiesOf, viewOf } from '../event-tree.ts'
import { readUid } from '../read-event.ts'

/* Calendar objects of mails (RFC 5546), before anything is known of the event. */

/** An ADD brings one more member, as a REQUEST for one does. Others change nothing here. */
const METHODS: Readonly<Record<string, MailedEvent['method']>> = {
  REQUEST: 'request',
  ADD: 'request',
  CANCEL: 'cancel',
  REPLY: 'reply',
}

/** Members that one answer or one cancellation may name. */
const COMPONENTS_MAX = 50

/**
 * Reads the subject of a mail. Null if nothing may be done because of it, as far as can be read from the mail.
 * @throws UnreadableEvents if the object exceeds a bound
 */
export function readMailedEvent(
  bytes: Buffer,
  { from, own }: { from: string; own: ReadonlySet<string> },
): MailedEvent | null {
  const [calendar, ...others] = componentsOf(openTree(bytes), 'VCALENDAR')
  if (!calendar || others.length > 0) return null
  const method = METHODS[propertiesOf(calendar, 'METHOD')[0]?.content.value.trim().toUpperCase() ?? '']
  const events = componentsOf(calendar, 'VEVENT')
  const uid = onlyOne(events, event => readUid(viewOf(event)))
  const organizer = onlyOne(events, organizerOf)
  if (!method || uid === null || organizer === null || events.some(isForFuture)) return null
  // Each would be copied from its series.
  if (method !== 'request' && events.length > COMPONENTS_MAX) return null
  const isMeant =
    method === 'reply'
      ? own.has(organizer) && events.every(event => isAnswerFrom(event, from))
      : !own.has(organizer) &&
        events.every(event => isFromOrganizer(event, from)) &&
        eventsFor(events, { method, own }).length > 0
  return isMeant ? { method, uid, organizer } : null
}

/** A value that all events have in common. */
function onlyOne(events: readonly EventNode[], valueOf: (event: EventNode) => string | null): string | null {
  const [value = null, ...others] = new Set(events.map(valueOf))
  return others.length === 0 ? value : null
}

export function organizerOf(event: EventNode): string | null {
  const [line] = propertiesOf(event, 'ORGANIZER')
  return line ? addressOf(line.content) : null
}

/** An object for "this and future" members (RFC 5545 section 3.2.13) would move members that it does not name. */
function isForFuture(event: EventNode): boolean {
  return propertiesOf(event, 'RECURRENCE-ID').some(({ content }) => parameterOf(content, 'RANGE') !== null)
}

export function isFromOrganizer(event: EventNode, from: string): boolean {
  const [line] = propertiesOf(event, 'ORGANIZER')
  return line !== undefined && isFrom(line.content, from)
}

/** Whether a mail from an address may be of the person of a line, who may let another one send it (RFC 5545 section 3.2.18). */
function isFrom(line: ContentLine, from: string): boolean {
  if (addressOf(line) === from) return true
  const sentBy = parameterOf(line, 'SENT-BY')
  return sentBy !== null && addressOf({ ...line, parameters: [], value: sentBy }) === from
}

/**
 * A reply has one attendee, who sends it (RFC 5546 section 3.2.3). A SENT-BY of the mail would let anybody answer for others.
 */
function isAnswerFrom(event: EventNode, from: string): boolean {
  const [line, ...others] = propertiesOf(event, 'ATTENDEE')
  return line !== undefined && others.length === 0 && addressOf(line.content) === from
}

/**
 * The events of a mail that are for the account. A series to which it is invited brings all of its members. The end of an event
 * names those whom it concerns, or nobody (RFC 5546 section 3.2.5).
 */
export function eventsFor(
  events: readonly EventNode[],
  { method, own }: { method: MailedEvent['method']; own: ReadonlySet<string> },
): readonly EventNode[] {
  const isNamed = (event: EventNode) => ownLines(event, own).length > 0
  const isSeries = (event: EventNode) => propertiesOf(event, 'RECURRENCE-ID').length === 0
  if (method === 'reply') return events
  if (method === 'request' && events.some(event => isSeries(event) && isNamed(event))) return events
  const isForAll = (event: EventNode) => method === 'cancel' && propertiesOf(event, 'ATTENDEE').length === 0
  return events.filter(event => isNamed(event) || isForAll(event))
}
