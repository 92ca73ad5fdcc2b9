import { toMember } from '../../../kit/recurrence/member.ts'
import { printDates } from '../../../kit/recurrence/recurrence-lines.ts'
import { isDay } from '../../../kit/wall-clock.ts'
import type { EventTime } from '../../calendars.ts'
import type { EditContext } from './edit-context.ts'
import {
  type EventNode,
  newProperty,
  propertiesOf,
  propertyOf,
  replaceProperties,
  viewOf,
} from './event-tree.ts'
import { recurrenceOf } from './read-events.ts'

/* Recurrence lines of a component. */

/** The TZID that lines for a start have. */
export function tzidOf({ wall, zone }: EventTime, context: EditContext): string | null {
  return isDay(wall) || zone === null || zone === 'UTC' ? zone : context.tzidOf(zone)
}

/** RRULE, EXRULE and RDATE lines; null if it is a single. */
export function linesOfRecurrence(node: EventNode): string[] | null {
  return recurrenceOf(viewOf(node))
}

const BEHIND = ['DTSTART', 'DTEND', 'DURATION', 'RRULE', 'EXRULE', 'RDATE']

/** @returns whether any line differs */
export function setRecurrence(node: EventNode, lines: readonly string[]): boolean {
  const before = propertiesOf(node, 'RRULE', 'EXRULE', 'RDATE')
  const texts = linesOfRecurrence(node) ?? []
  if (texts.join('\n') === lines.join('\n')) return false
  replaceProperties(node, before, lines.map(propertyOf), BEHIND)
  return true
}

/** The members that EXDATE lines take. */
export function takenBy(node: EventNode, start: EventTime, { zoneOf }: EditContext): string[] {
  const taken = new Set<string>()
  for (const { content } of propertiesOf(node, 'EXDATE'))
    for (const value of content.value.split(',')) {
      const member = toMember(value, content.parameters, start, zoneOf)
      if (member !== null) taken.add(member)
    }
  return [...taken]
}

/**
 * Sets the members that EXDATE lines take. A line whose values all stay keeps its bytes, and others keep those values. New ones have
 * the zone and the type of the start.
 * @param start by which the lines are read, if it differs from the new one
 * @returns whether any line differs
 */
export function setTaken(
  node: EventNode,
  taken: readonly string[],
  { start, before = start }: { start: EventTime; before?: EventTime },
  context: EditContext,
): boolean {
  const lines = propertiesOf(node, 'EXDATE')
  const missing = new Set(taken)
  const isSameSeries = before.wall === start.wall && before.zone === start.zone
  const kept = lines.flatMap(property => {
    const { content } = property
    const values = isSameSeries ? content.value.split(',') : []
    const staying = values.filter(value => {
      const member = toMember(value, content.parameters, start, context.zoneOf)
      if (member === null || !taken.includes(member)) return member === null
      missing.delete(member)
      return true
    })
    if (staying.length === 0) return []
    return staying.length === values.length
      ? [property]
      : [newProperty({ ...content, value: staying.join(',') })]
  })
  const members = [...missing].map(wall => ({ wall, end: null }))
  const added = printDates('EXDATE', members, start, tzidOf(start, context)).map(propertyOf)
  if (added.length === 0 && kept.length === lines.length && kept.every((one, at) => one === lines[at]))
    return false
  replaceProperties(node, lines, [...kept, ...added], BEHIND)
  return true
}
