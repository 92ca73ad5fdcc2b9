import { comparedAddress } from '../../../kit/compared-address.ts'
import type { ItipComponent, ItipMethod } from '../../../kit/itip/component.ts'
import type { Steps } from '../../../kit/sliced-work.ts'
import type { EventAddress, RemoteAttendee } from '../../../providers/calendars.ts'
import { memberEvent, planTold, type Told } from './changes.ts'
import {
  cancelling,
  type ComponentOptions,
  componentOf,
  sequenceOf,
  stampAfter,
  wholeComponents,
} from './components.ts'
import type { Meeting, MeetingEvent } from './meeting.ts'
import { type SharingPeople, sharingSteps } from './shares.ts'

/** A message to people of a meeting, before it is divided into mails. */
export interface Message {
  method: ItipMethod
  uid: string
  /** Null: the single or series as a whole. */
  member: string | null
  /** Whether it is news to these people that there is the event; of a cancellation, whether the event goes on without them. */
  isNew: boolean
  from: EventAddress
  to: readonly EventAddress[]
  /** At least one. The first one is what the mail is about. */
  components: readonly ItipComponent[]
}

export interface MessageOptions extends ComponentOptions {
  /** The addresses of the account, as `comparedAddress` has them. */
  own: ReadonlySet<string>
  /** Members before this wall clock are over. */
  from: string
  /** Whether mail can be addressed so. */
  isMailable: (address: string) => boolean
}

/**
 * Plans what the people of a meeting are told of a write of its organizer. Nothing if the account does not organize it.
 * @param before null: there was none
 * @param after null: there is none any more
 */
export function* messageSteps(
  before: Meeting | null,
  after: Meeting | null,
  options: MessageOptions,
): Steps<Message[]> {
  const { own, isMailable } = options
  const meeting = after ?? before
  if (!meeting || !isOrganizedBy(meeting, own)) return []
  const isOther = (address: string) => !own.has(address) && isMailable(address)
  const groups = yield* sharingSteps(before, after, isOther)
  const messages = new Map<string, Message>()
  for (const group of groups) {
    yield
    for (const told of planTold(group.before, group.after, options.from)) {
      const key = JSON.stringify([told, told.method === 'REQUEST' && told.member === null && group.afterKey])
      const known = messages.get(key)
      const to = [...(known?.to ?? []), ...group.people]
      const message = known ?? messageOf(told, group, { before, after }, options)
      if (message) messages.set(key, { ...message, to })
    }
  }
  const planned = [...messages.values()].map(message =>
    message.method === 'CANCEL' ? { ...message, components: namingAll(message) } : message,
  )
  // People may be invited to a part of a series that is cancelled for them, which they read last.
  return planned.toSorted((one, other) => Number(one.method !== 'CANCEL') - Number(other.method !== 'CANCEL'))
}

interface Write {
  before: Meeting | null
  after: Meeting | null
}

function messageOf(
  { method, member, isNew }: Told,
  group: SharingPeople,
  write: Write,
  options: MessageOptions,
): Message | null {
  const { uid } = (write.after ?? write.before)!
  const components =
    method === 'CANCEL'
      ? cancelledComponents(uid, member, group, write, options)
      : requestedComponents(uid, member, group, write, options)
  const [first] = components
  if (!first) return null
  const goesOn = method === 'CANCEL' && isStillHeld(member, write)
  return { method, uid, member, isNew: isNew || goesOn, from: first.organizer, to: [], components }
}

function requestedComponents(
  uid: string,
  member: string | null,
  { after }: SharingPeople,
  { after: meeting }: Write,
  options: MessageOptions,
): ItipComponent[] {
  if (member === null) return wholeComponents(uid, after, options)
  const event = after.exceptions.get(member)
  return event ? [componentOf(uid, event, { member, series: meeting?.event ?? null }, options)] : []
}

function cancelledComponents(
  uid: string,
  member: string | null,
  { before }: SharingPeople,
  write: Write,
  options: MessageOptions,
): ItipComponent[] {
  const sequence = cancelledSequence(member, write)
  const left = (member === null ? null : exceptionOf(write.after, member)) ?? write.after?.event ?? null
  const stamp = (event: MeetingEvent) => stampAfter(event, left, options.now)
  if (member === null) {
    if (!before.event) return []
    const component = componentOf(uid, before.event, null, options)
    const recurrence = before.recurrence ?? []
    return [cancelling({ ...component, recurrence }, [], { sequence, stamp: stamp(before.event) })]
  }
  const event = before.exceptions.get(member) ?? (before.event && memberEvent(before.event, member))
  if (!event) return []
  const series = write.before?.event ?? null
  const component = componentOf(uid, event, { member, series }, options)
  return [cancelling(component, [], { sequence, stamp: stamp(event) })]
}

/**
 * A cancellation must not be older than what people have. An event that goes on keeps its SEQUENCE, so that they can be
 * invited again.
 */
function cancelledSequence(member: string | null, write: Write): number {
  const { before, after } = write
  const former = before ? sequenceOf(before) : 0
  if (!after) return former + 1
  if (member === null) return Math.max(after.event?.sequence ?? 0, before?.event?.sequence ?? 0)
  const known = exceptionOf(before, member)?.sequence ?? before?.event?.sequence ?? 0
  const left = exceptionOf(after, member)
  return left ? Math.max(left.sequence, known) : Math.max(after.event?.sequence ?? 0, known + 1)
}

const exceptionOf = (meeting: Meeting | null, member: string): MeetingEvent | null =>
  meeting?.exceptions.find(one => one.member === member)?.event ?? null

function isStillHeld(member: string | null, { after }: Write): boolean {
  if (!after || after.event?.status === 'cancelled') return false
  return member === null || after.exceptions.some(exception => exception.member === member)
}

/** RFC 5546 section 3.2.5: a cancellation names those whom it is for. */
const namingAll = ({ components, to }: Message): ItipComponent[] =>
  components.map(component => ({ ...component, attendees: to as readonly RemoteAttendee[] }))

/** Without an organizer, an event is the account's. */
export function isOrganizedBy(meeting: Meeting, own: ReadonlySet<string>): boolean {
  const first: MeetingEvent | undefined = meeting.event ?? meeting.exceptions[0]?.event
  if (!first) return false
  return first.organizer === null || own.has(comparedAddress(first.organizer.address))
}
