import { isDeepStrictEqual } from 'node:util'
import type { RemoteEvent } from '../../../calendars.ts'
import { timesOfMember } from '../../../new-times.ts'
import { linesOfRecurrence, setTaken, takenBy } from '../edit-recurrence.ts'
import { copyNode, type EventNode, propertiesOf, replaceProperties } from '../event-tree.ts'
import { type Override, overrideOf, removeOverrides } from '../open-edit.ts'
import { importNode, MEMBER_PROPERTIES, mergeInto, setInvited } from './merge.ts'
import { addZones, isOrganizers, memberNamed, type Taking } from './open-mailed.ts'
import { isNewer, noteRevision, organizersRevision, revisionOf } from './revision.ts'

/**
 * Brings the file of an invitation to what its organizer has sent. A mail with the series is about all of its members (RFC 5546
 * section 3.2.2), any other one about those that it names. @returns whether anything was newer
 */
export function takeRequest(taking: Taking): boolean {
  if (!isOrganizers(taking)) return false
  const { open, mailed } = taking
  const { master } = mailed
  const isWhole =
    master !== null &&
    (!open.master || isNewer(revisionOf(master.node), organizersRevision(open.master.node)))
  if (isWhole) takeSeries(taking, master)
  const taken = mailed.overrides.filter(override => takeMember(taking, override, isWhole))
  if (!isWhole && taken.length === 0) return false
  addZones(taking)
  return true
}

function takeSeries(taking: Taking, { node: source, event }: { node: EventNode; event: RemoteEvent }): void {
  const { open, mailed, own } = taking
  if (!open.master) {
    const node = invitedNode(source, own)
    const first = open.calendar.items.findIndex(item => item.type === 'component' && item.name === 'VEVENT')
    open.calendar.items.splice(first, 0, node)
    open.master = { node, event }
    return
  }
  const before = open.master
  const { start } = event
  const formerRevision = organizersRevision(before.node)
  const isSame = hasSameTimes(before.event, event) && recurs(before.node) === recurs(source)
  const left = isSame ? takenBy(before.node, start, open.context) : []
  const named = new Set(mailed.overrides.map(({ member }) => member))
  const { stamp } = revisionOf(source)
  mergeInto(before.node, source, { own, keepsResponse: isSame })
  // Members that the account has left stay so.
  const context = { ...open.context, zoneOf: mailed.context.zoneOf }
  if (left.length > 0)
    setTaken(before.node, [...takenBy(before.node, start, context), ...left], { start }, context)
  removeOverrides(open, override => {
    if (named.has(override.member) || organizersRevision(override.node).stamp > stamp) return false
    if (isSame && override.event?.status === 'cancelled') return false
    if (!isSame || !isAttendeesOwn(override, before.event, formerRevision)) return true
    mergeInto(override.node, source, { own, keepsResponse: true, staying: MEMBER_PROPERTIES })
    return false
  })
  open.master = { node: before.node, event }
}

/** Whether a member has a component of its own only because the account changed something of it, such as its response. */
function isAttendeesOwn(
  { node, member, event }: Override,
  series: RemoteEvent,
  revision: ReturnType<typeof organizersRevision>,
): boolean {
  const usual = timesOfMember(series, member)
  return event !== null && hasSameTimes(event, usual) && isDeepStrictEqual(organizersRevision(node), revision)
}

/** @returns whether the member was newer */
function takeMember(taking: Taking, { node: source, event }: Override, isWhole: boolean): boolean {
  const { open, own } = taking
  const member = memberNamed(taking, source) ?? null
  if (event === null || member === null) return false
  const found = overrideOf(open, member) ?? open.overrides.find(one => one.member === member)
  const known = found?.node ?? open.master?.node
  if (!isWhole && known && !isNewer(revisionOf(source), organizersRevision(known))) return false
  if (found) {
    const isSame =
      found.event !== null && found.event.status !== 'cancelled' && hasSameTimes(found.event, event)
    mergeInto(found.node, source, { own, keepsResponse: isSame })
    found.event = event
    return true
  }
  const node = memberNode(taking, { source, event, member })
  const last = open.calendar.items.findLastIndex(item => item.type === 'component' && item.name === 'VEVENT')
  open.calendar.items.splice(last + 1, 0, node)
  open.overrides.push({ node, member, event })
  return true
}

/** A new component of a member, with the alarms and the response of its series. */
function memberNode(
  { open: { master }, own }: Taking,
  { source, event, member }: { source: EventNode; event: RemoteEvent; member: string },
): EventNode {
  if (!master) return invitedNode(source, own)
  const node = copyNode(master.node)
  replaceProperties(node, propertiesOf(node, 'RRULE', 'EXRULE', 'RDATE', 'EXDATE'), [])
  const keepsResponse = hasSameTimes(timesOfMember(master.event, member), event)
  mergeInto(node, source, { own, keepsResponse })
  return node
}

function invitedNode(source: EventNode, own: ReadonlySet<string>): EventNode {
  const node = importNode(source)
  setInvited(node, own)
  noteRevision(node, revisionOf(source))
  return node
}

type Times = Pick<RemoteEvent, 'start' | 'end'>

const hasSameTimes = (one: Times, other: Times): boolean =>
  isDeepStrictEqual([one.start, one.end], [other.start, other.end])

/** The recurrence of a component, with the parts of its rules in one order. */
function recurs(node: EventNode): string {
  const lines = linesOfRecurrence(node) ?? []
  return lines
    .map(line => line.toUpperCase().split(/[;:]/).toSorted().join(';'))
    .toSorted()
    .join('\n')
}
