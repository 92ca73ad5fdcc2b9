import { isDay } from '../../../kit/wall-clock.ts'
import type { EventTime } from '../../calendars.ts'
import type { EventChange } from '../../changing-calendars.ts'
import type { EventTimes } from '../../new-times.ts'
import { readTime } from '../cards/revision-time.ts'
import { type EditContext, printTime } from './edit-context.ts'
import { isOfOther } from './edit-attendees.ts'
import { readTimes } from './event-times.ts'
import {
  type EventNode,
  propertiesOf,
  propertyOf,
  replaceProperties,
  setValue,
  viewOf,
} from './event-tree.ts'

/* Start, end and RECURRENCE-ID of a component, and the stamps of its revision. */

const isEqual = (one: EventTime, other: EventTime): boolean =>
  one.wall === other.wall && one.zone === other.zone

/** Writes the times that differ. @returns whether any does */
export function setTimes(node: EventNode, times: EventTimes, context: EditContext): boolean {
  const before = readTimes(viewOf(node), context.zoneOf)
  if (before && isEqual(before.start, times.start) && isEqual(before.end, times.end)) return false
  if (!before || !isEqual(before.start, times.start)) setTime(node, 'DTSTART', times.start, context)
  // A DURATION stays if it gives the end.
  const after = readTimes(viewOf(node), context.zoneOf)
  const isOfType = propertiesOf(node, 'DTEND').every(
    ({ content }) => isDay(content.value.trim()) === isDay(times.end.wall),
  )
  if (!after || !isEqual(after.end, times.end) || !isOfType) {
    const ends = propertiesOf(node, 'DTEND', 'DURATION')
    replaceProperties(node, ends, [propertyOf(`DTEND${printTime(times.end, context)}`)], ['DTSTART'])
  }
  if (propertiesOf(node, ALL_DAY).length > 0)
    setValue(node, ALL_DAY, isDay(times.start.wall) ? 'TRUE' : 'FALSE')
  return true
}

/** Outlook writes it beside DTSTART. */
const ALL_DAY = 'X-MICROSOFT-CDO-ALLDAYEVENT'

export function setTime(
  node: EventNode,
  name: 'DTSTART' | 'RECURRENCE-ID',
  time: EventTime,
  context: EditContext,
): void {
  const property = propertyOf(`${name}${printTime(time, context)}`)
  replaceProperties(node, propertiesOf(node, name), [property], ['UID'])
}

export function timesIn({ start, end }: EventChange): Partial<EventTimes> {
  return { ...(start && { start }), ...(end && { end }) }
}

/** Notes that a component is changed. With new times or members, it is a new revision (RFC 5546 section 2.1.4). */
export function stamp(node: EventNode, { stamps }: EditContext, isRevision: boolean): void {
  stamps.set(node, isRevision || stamps.get(node) === true)
}

/** Writes the stamps of a component. Only its organizer counts revisions. */
export function writeStamp(node: EventNode, { now, own, stamps }: EditContext): void {
  const time = `${laterStamp(node, now).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`
  setValue(node, 'DTSTAMP', time)
  setValue(node, 'LAST-MODIFIED', time)
  if (stamps.get(node) && !isOfOther(node, own)) setValue(node, 'SEQUENCE', String(sequenceOf(node) + 1))
}

/** The last second that a stamp can have. */
const STAMP_MAX = Date.UTC(9999, 11, 31, 23, 59, 59)

/** A second after the stamps that a component has: of two messages of one second, people would ignore the later one. */
function laterStamp(node: EventNode, now: Date): Date {
  const former = propertiesOf(node, 'DTSTAMP', 'LAST-MODIFIED').flatMap(
    ({ content }) => readTime(content.value)?.getTime() ?? [],
  )
  const later = Math.max(now.getTime(), ...former.map(time => time + 1_000))
  return later > STAMP_MAX ? now : new Date(later)
}

/** The revision of a component; 0 without a number. */
export function sequenceOf(node: EventNode): number {
  const sequence = Number.parseInt(propertiesOf(node, 'SEQUENCE')[0]?.content.value ?? '', 10)
  return sequence > 0 ? sequence : 0
}
