import { comparedAddress } from '../../../kit/compared-address.ts'
import type { Steps } from '../../../kit/sliced-work.ts'
import type { RemoteAttendee } from '../../../providers/calendars.ts'
import type { Meeting, MeetingEvent } from './meeting.ts'

/** The part of a meeting that the same people are invited to. */
export interface Share {
  /** Null: they are invited to no series or single. */
  event: MeetingEvent | null
  recurrence: readonly string[] | null
  /** The exceptions that they are invited to, by member. */
  exceptions: ReadonlyMap<string, MeetingEvent>
  /** Members that the series lacks for them, others' exceptions among them. */
  taken: ReadonlySet<string>
}

/** People with the same shares of a meeting before and after a write. */
export interface SharingPeople {
  people: readonly RemoteAttendee[]
  before: Share
  after: Share
  /** The same for people with the same share after the write. */
  afterKey: string
}

/** Groups with shares of their own. Each has mails of its own, with all events that it is invited to. */
const GROUPS_MAX = 100

const NO_SHARE: Share = { event: null, recurrence: null, exceptions: new Map(), taken: new Set() }

/**
 * Groups the people of a meeting by the parts that they are invited to, before and after a write. A step is an event, or a
 * person.
 * @param isOther whether an address is to be told at all
 * @throws RangeError if there are more than 100 groups
 */
export function* sharingSteps(
  before: Meeting | null,
  after: Meeting | null,
  isOther: (address: string) => boolean,
): Steps<SharingPeople[]> {
  const people = new Map<string, RemoteAttendee>()
  // Few meetings have more than one list of attendees.
  const numbers = new Map<string, number>()
  const lists: Array<ReadonlySet<string>> = []
  const listOf = new Map<MeetingEvent, number>()
  for (const event of [...eventsOf(after), ...eventsOf(before)]) {
    yield
    const addresses =
      event.status === 'cancelled' ? [] : event.attendees.map(one => comparedAddress(one.address))
    const key = addresses.toSorted().join(' ')
    const known = numbers.get(key)
    listOf.set(event, known ?? lists.length)
    if (known !== undefined) continue
    numbers.set(key, lists.length)
    lists.push(new Set(addresses))
    if (event.status === 'cancelled') continue
    for (const one of event.attendees) {
      const address = comparedAddress(one.address)
      if (isOther(address) && !people.has(address)) people.set(address, one)
    }
  }
  const groups = new Map<string, { invited: ReadonlySet<number>; addresses: string[] }>()
  for (const address of [...people.keys()].toSorted()) {
    yield
    const invited = lists.flatMap((list, number) => (list.has(address) ? [number] : []))
    const key = invited.join(' ')
    const group = groups.get(key) ?? { invited: new Set(invited), addresses: [] }
    group.addresses.push(address)
    groups.set(key, group)
  }
  if (groups.size > GROUPS_MAX) throw new RangeError(`${groups.size} groups of people`)
  const sharing: SharingPeople[] = []
  for (const { invited, addresses } of groups.values()) {
    yield
    const isInvited = (event: MeetingEvent) => invited.has(listOf.get(event)!)
    sharing.push({
      people: addresses.map(address => people.get(address)!),
      before: shareOf(before, isInvited),
      after: shareOf(after, isInvited),
      afterKey: JSON.stringify(after ? eventsOf(after).map(isInvited) : []),
    })
  }
  return sharing
}

const eventsOf = (meeting: Meeting | null): MeetingEvent[] =>
  meeting
    ? [...(meeting.event ? [meeting.event] : []), ...meeting.exceptions.map(exception => exception.event)]
    : []

function shareOf(meeting: Meeting | null, isInvited: (event: MeetingEvent) => boolean): Share {
  if (!meeting) return NO_SHARE
  const event = meeting.event && isInvited(meeting.event) ? meeting.event : null
  const own = meeting.exceptions.filter(exception => isInvited(exception.event))
  const others = meeting.exceptions.filter(exception => !isInvited(exception.event))
  return {
    event,
    recurrence: event && meeting.recurrence,
    exceptions: new Map(own.map(exception => [exception.member, exception.event])),
    taken: new Set(event ? [...meeting.taken, ...others.map(({ member }) => member)] : []),
  }
}
