import { isDeepStrictEqual } from 'node:util'
import type { RemoteEvent } from '../../calendars.ts'
import type { EventChange } from '../../changing-calendars.ts'
import { printRecurrence } from '../../../kit/recurrence/recurrence-lines.ts'
import { type EventTimes, newTimes, timesOfMember } from '../../new-times.ts'
import { changeSeries, lacksMember, type SeriesState } from '../../series-change.ts'
import type { Writer } from './edit-attendees.ts'
import { completeFields, type FieldChange, followedFields, setFields } from './edit-fields.ts'
import { linesOfRecurrence, setRecurrence, setTaken, takenBy, tzidOf } from './edit-recurrence.ts'
import { setTimes, stamp, timesIn } from './edit-times.ts'
import { viewOf } from './event-tree.ts'
import { keepFirst } from './first-occurrence.ts'
import { type OpenEvent, type Override, removeOverrides, renameOverride } from './open-edit.ts'
import { readEvent } from './read-event.ts'
import { MissingMember, UnheldChange } from './unwritable.ts'

type Master = NonNullable<OpenEvent['master']>

interface WholeChange {
  /** The member whose times and fields the change has; null: those of the series. */
  timesOf?: string | null
  /** Whether the event is not stored yet. */
  isNew?: boolean
  writer: Writer
}

/**
 * Changes a single, or a series with its exceptions: a field of an exception that had the value of the series follows.
 */
export function changeWhole(
  open: OpenEvent,
  change: EventChange,
  { timesOf = null, isNew = false, writer }: WholeChange,
): void {
  const { master, context } = open
  if (!master) throw new MissingMember('The calendar has only exceptions of this series.')
  requireMemberOf(open, master, change, timesOf)
  if (change.recurrence === null && linesOfRecurrence(master.node))
    return changeToFirst(open, master, change, { timesOf, writer })
  const fields = completeFields(change, master.event)
  const following = open.overrides.map(override => ({
    override,
    fields: override.event ? followOf(override, fields, master.event, timesOf) : {},
  }))
  const isRevision = changeMembers(open, master, change, timesOf)
  const event = readEvent(viewOf(master.node), context.zoneOf)!
  setFields(master.node, fields, event, writer)
  stamp(master.node, context, isRevision && !isNew)
  const kept = new Set(open.overrides)
  for (const { override, fields: followed } of following) {
    if (!kept.has(override) || !override.event || (Object.keys(followed).length === 0 && !isRevision))
      continue
    const current = readEvent(viewOf(override.node), context.zoneOf)!
    setFields(override.node, followed, current, writer)
    stamp(override.node, context, isRevision)
  }
}

/** Makes a series its first occurrence, and changes that. */
function changeToFirst(
  open: OpenEvent,
  series: Master,
  asked: EventChange,
  { timesOf, writer }: { timesOf: string | null; writer: Writer },
): void {
  const { recurrence: _, ...change } = asked
  const first = keepFirst(open, series)
  const { node, event } = open.master!
  const { start, end } = newTimes(event, timesIn(change), timesOf === first ? null : timesOf)
  changeWhole(open, { ...change, start, end }, { writer })
  stamp(node, open.context, true)
}

function requireMemberOf(
  open: OpenEvent,
  { node, event }: Master,
  change: EventChange,
  timesOf: string | null,
): void {
  if (lacksMember(stateOf(open, { node, event }), timesIn(change), timesOf))
    throw new MissingMember('The series no longer has this occurrence.')
}

const stateOf = (open: OpenEvent, { node, event }: Master): SeriesState => ({
  times: { start: event.start, end: event.end },
  lines: linesOfRecurrence(node) ?? [],
  taken: takenBy(node, event.start, open.context),
  exceptions: open.overrides.map(({ member }) => member),
})

function followOf(
  { member, event }: Override,
  fields: FieldChange,
  series: RemoteEvent,
  timesOf: string | null,
): FieldChange {
  return member === timesOf ? fields : followedFields(fields, event!, series)
}

/** Changes times and recurrence. @returns whether anything of them differs */
function changeMembers(
  open: OpenEvent,
  { node, event }: Master,
  change: EventChange,
  timesOf: string | null,
): boolean {
  const { context } = open
  const { recurrence } = change
  const state = stateOf(open, { node, event })
  const asked = { ...timesIn(change), ...(recurrence && { recurrence }) }
  if (linesOfRecurrence(node) === null) {
    const times = newTimes(event, asked, timesOf)
    const hasMoved = setTimes(node, times, context)
    if (!recurrence) return hasMoved
    setRecurrence(node, printRecurrence(recurrence, times.start, tzidOf(times.start, context)))
    setTaken(node, recurrence.taken, { start: times.start }, context)
    return true
  }
  const start = newTimes(state.times, asked, timesOf).start
  const changed = changeSeries(state, asked, timesOf, {
    tzid: tzidOf(start, context),
    zoneOf: context.zoneOf,
  })
  if (!changed) throw new UnheldChange('The rule does not give the new start. Give the recurrence as well.')
  moveOverrides(open, { before: state.times, after: changed.times, members: changed.exceptions, timesOf })
  const edits = [
    setTimes(node, changed.times, context),
    setRecurrence(node, changed.lines),
    setTaken(node, changed.taken, { start: changed.times.start, before: event.start }, context),
  ]
  return edits.includes(true)
}

interface Move {
  before: EventTimes
  after: EventTimes
  members: ReadonlyMap<string, string>
  timesOf: string | null
}

/** Exceptions move along with their members. If one had the times of its member, or the change names it, it takes the new times. */
function moveOverrides(open: OpenEvent, { before, after, members, timesOf }: Move): void {
  removeOverrides(open, ({ member }) => !members.has(member))
  const hasMoved = !isDeepStrictEqual(before, after)
  for (const override of open.overrides) {
    const { event, member, node } = override
    const next = members.get(member)!
    if (next !== member || before.start.zone !== after.start.zone)
      renameOverride(override, next, after.start.zone, open.context)
    const usual = timesOfMember(before, member)
    const isUsual = event !== null && isDeepStrictEqual(usual, { start: event.start, end: event.end })
    if (hasMoved && (isUsual || member === timesOf)) setTimes(node, timesOfMember(after, next), open.context)
  }
}
