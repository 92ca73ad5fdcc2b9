import { expand } from '../../../kit/recurrence/expand.ts'
import { firstMember } from '../../../kit/recurrence/first-member.ts'
import { isFrom, type Series, splitSeries, truncateSeries } from '../../../kit/recurrence/split-series.ts'
import { PERIODS_MAX } from '../../../kit/recurrence/walk-rule.ts'
import { DAY_MS, isDay, printDay, printWall, requireWall, WALL_TIME_END } from '../../../kit/wall-clock.ts'
import type { EventChange } from '../../changing-calendars.ts'
import { newTimes, timesOfMember } from '../../new-times.ts'
import { isOfOther, type Writer } from './edit-attendees.ts'
import { completeFields, setFields } from './edit-fields.ts'
import { linesOfRecurrence, setRecurrence, setTaken, takenBy } from './edit-recurrence.ts'
import { setTime, setTimes, stamp, timesIn } from './edit-times.ts'
import {
  copyNode,
  type EventNode,
  newProperty,
  propertiesOf,
  replaceProperties,
  viewOf,
} from './event-tree.ts'
import { escapeText } from '../../../kit/content-lines/text-value.ts'
import { type OpenEvent, overrideOf, removeOverrides, takenOf } from './open-edit.ts'
import { readEvent } from './read-event.ts'
import { MissingMember, UnheldChange } from './unwritable.ts'

/* Changes of members of a series. */

/** Changes one member, which becomes an exception. */
export function changeMember(open: OpenEvent, member: string, change: EventChange, writer: Writer): void {
  if (change.recurrence !== undefined) throw new UnheldChange('One occurrence has no recurrence.')
  const node = requireOverride(open, member)
  const event = readEvent(viewOf(node), open.context.zoneOf)!
  const hasMoved = setTimes(node, newTimes(event, timesIn(change)), open.context)
  const current = readEvent(viewOf(node), open.context.zoneOf)!
  setFields(node, completeFields(change, event), current, writer)
  stamp(node, open.context, hasMoved)
}

/** The component of a member, which is made if it is no exception. */
export function requireOverride(open: OpenEvent, member: string): EventNode {
  const found = overrideOf(open, member)
  if (takenOf(open).has(member) && (!found || found.event?.status === 'cancelled')) throw missing()
  return found ? found.node : addOverride(open, member)
}

const missing = () => new MissingMember('The series no longer has this occurrence.')

function addOverride(open: OpenEvent, member: string): EventNode {
  const { master, context, calendar } = open
  const lines = master && linesOfRecurrence(master.node)
  if (!master || !lines) throw missing()
  const { start, end } = master.event
  const given = memberAt({ start, lines, taken: [...takenOf(open)] }, member)
  if (!given) throw missing()
  const node = copyNode(master.node)
  replaceProperties(node, propertiesOf(node, 'RRULE', 'EXRULE', 'RDATE', 'EXDATE'), [])
  setTime(node, 'RECURRENCE-ID', { wall: member, zone: start.zone }, context)
  setTimes(node, timesOfMember({ start, end }, member, given.end), context)
  const last = calendar.items.findLastIndex(item => item.type === 'component' && item.name === 'VEVENT')
  calendar.items.splice(last + 1, 0, node)
  open.overrides.push({ node, member, event: readEvent(viewOf(node), context.zoneOf) })
  return node
}

/** A member with its own end; null if the series does not have it. */
export function memberAt({ start, lines, taken }: Series, member: string): { end: string | null } | null {
  if (isDay(member) !== isDay(start.wall) || taken.includes(member) || taken.includes(member.slice(0, 8)))
    return null
  const time = requireWall(member)
  const to = isDay(member) ? printDay(time + DAY_MS) : printWall(time + 1_000)
  return expand({ start, lines, from: member, to }).members[0] ?? null
}

/** Takes a member from its series. */
export function removeMember(open: OpenEvent, member: string): void {
  const { master, context } = open
  const lines = master && linesOfRecurrence(master.node)
  if (master && !lines) throw missing()
  const isException = overrideOf(open, member) !== undefined
  if (master && lines) {
    const { start } = master.event
    const taken = takenBy(master.node, start, context)
    if (!isException && !memberAt({ start, lines, taken: [...takenOf(open)] }, member)) throw missing()
    setTaken(master.node, [...taken, member], { start }, context)
    stamp(master.node, context, true)
  } else if (!isException) throw missing()
  removeOverrides(open, override => override.member === member)
}

interface Parts {
  series: Series
  node: EventNode
}

function partsOf(open: OpenEvent): Parts {
  const { master, context } = open
  const lines = master && linesOfRecurrence(master.node)
  if (!master || !lines) throw new MissingMember('The calendar does not have this series.')
  const { start } = master.event
  return { series: { start, lines, taken: takenBy(master.node, start, context) }, node: master.node }
}

/** Ends a series before its first member from a wall clock on, which another client may have moved. It stays as it is without one. */
export function endBefore(open: OpenEvent, from: string): void {
  const { series } = partsOf(open)
  const member = memberAt(series, from) ? from : firstMember(series, from)
  if (member !== null) truncate(open, member)
}

/** Ends a series before a member. Exceptions among the later members go. Of the series of somebody else, members are taken. */
export function truncate(open: OpenEvent, member: string): void {
  const { series, node } = partsOf(open)
  if (isOfOther(node, open.context.own)) return takeRest(open, member)
  const before = truncateSeries(series, member, open.context.zoneOf)
  if (!before) throw missing()
  setRecurrence(node, before.lines)
  setTaken(node, before.taken, { start: series.start }, open.context)
  removeOverrides(open, override => isFrom(override.member, member))
  stamp(node, open.context, true)
}

/** The most members that are taken one by one. */
const TAKEN_MAX = 500

/** Takes a member and those after it. The rule belongs to the organizer (RFC 6638 section 3.2.2.1). */
function takeRest(open: OpenEvent, member: string): void {
  const { series, node } = partsOf(open)
  const isDays = isDay(member)
  const end = (isDays ? printDay : printWall)(WALL_TIME_END - DAY_MS)
  const bounds = { periods: PERIODS_MAX, members: TAKEN_MAX + 1 }
  const { members, isTruncated } = expand({ ...series, from: member, to: end }, bounds)
  if (members[0]?.wall !== member) throw missing()
  if (isTruncated || members.length > TAKEN_MAX)
    throw new UnheldChange(
      `Somebody else organizes this series, and more than ${TAKEN_MAX} of its occurrences are left.`,
    )
  const taken = members.map(({ wall }) => wall)
  setTaken(node, [...series.taken, ...taken], { start: series.start }, open.context)
  removeOverrides(open, override => isFrom(override.member, member))
  stamp(node, open.context, true)
}

/** Turns a series into the part that begins at a member, under a UID of its own. */
export function keepRest(open: OpenEvent, member: string, uid: string): void {
  const { series, node } = partsOf(open)
  if (isOfOther(node, open.context.own)) throw new UnheldChange('Somebody else organizes this series.')
  const parts = splitSeries(series, member, open.context.zoneOf)
  if (!parts) {
    if (!truncateSeries(series, member, open.context.zoneOf)) throw missing()
    throw new UnheldChange('No rule that begins at this occurrence gives the later ones.')
  }
  const { event } = open.master!
  removeOverrides(open, override => !isFrom(override.member, member))
  setTimes(node, timesOfMember(event, member), open.context)
  setRecurrence(node, parts.after.lines)
  setTaken(node, parts.after.taken, { start: series.start }, open.context)
  const kept = new Set([node, ...open.overrides.map(override => override.node)])
  for (const one of kept)
    replaceProperties(one, propertiesOf(one, 'UID'), [
      newProperty({ rawName: 'UID', parameters: [], value: escapeText(uid) }),
    ])
  // A file has one UID (RFC 4791 section 4.1), and whatever has another one stays where it is.
  const isKept = (item: EventNode['items'][number]) =>
    item.type === 'property' ||
    kept.has(item) ||
    (item.name !== 'VEVENT' && propertiesOf(item, 'UID').length === 0)
  open.calendar.items = open.calendar.items.filter(isKept)
  open.tree.items = open.tree.items.filter(item => item.type === 'property' || item === open.calendar)
  open.master = { node, event: readEvent(viewOf(node), open.context.zoneOf)! }
}
