import { firstMember } from '../../../kit/recurrence/first-member.ts'
import { timesOfMember } from '../../new-times.ts'
import { memberAt } from './edit-part.ts'
import { linesOfRecurrence } from './edit-recurrence.ts'
import { sequenceOf, setTimes } from './edit-times.ts'
import { propertiesOf, replaceProperties, setValue, viewOf } from './event-tree.ts'
import { type OpenEvent, overrideOf, removeOverrides, takenOf } from './open-edit.ts'
import { readEvent } from './read-event.ts'

type Master = NonNullable<OpenEvent['master']>

/**
 * Makes a series the first of its occurrences that was not taken, with what differs in it if it is an exception. A series
 * that has none left becomes an event at its start.
 * @returns the member that it was
 */
export function keepFirst(open: OpenEvent, { node, event }: Master): string {
  const { start } = event
  const series = { start, lines: linesOfRecurrence(node) ?? [], taken: [...takenOf(open)] }
  const usual = firstMember(series, start.wall)
  const [excepted] = open.overrides
    .filter(override => override.event && override.event.status !== 'cancelled')
    .map(({ member }) => member)
    .toSorted()
  if (excepted !== undefined && (usual === null || excepted <= usual)) {
    keepException(open, node, excepted)
    return excepted
  }
  const member = usual ?? start.wall
  setTimes(node, timesOfMember(event, member, memberAt(series, member)?.end), open.context)
  removeOverrides(open, () => true)
  becomeSingle(open, node)
  return member
}

/** Puts the component of an exception in the place of its series. */
function keepException(open: OpenEvent, series: Master['node'], member: string): void {
  const { node } = overrideOf(open, member)!
  if (sequenceOf(series) > sequenceOf(node)) setValue(node, 'SEQUENCE', String(sequenceOf(series)))
  removeOverrides(open, override => override.node !== node)
  const items = open.calendar.items.filter(item => item !== node)
  open.calendar.items = items.map(item => (item === series ? node : item))
  open.overrides = []
  becomeSingle(open, node)
}

function becomeSingle(open: OpenEvent, node: Master['node']): void {
  const gone = propertiesOf(node, 'RRULE', 'EXRULE', 'RDATE', 'EXDATE', 'RECURRENCE-ID')
  replaceProperties(node, gone, [])
  open.master = { node, event: readEvent(viewOf(node), open.context.zoneOf)! }
}
