import { storable } from '../../../kit/storable.ts'
import type {
  EventTime,
  RemoteEvent,
  RemoteItem,
  RemoteObject,
  UnreadableItem,
} from '../../../providers/calendars.ts'

/** PostgreSQL reads no year 0. From here on a wall clock is of a later year in every zone. */
const WALL_MIN = '00010102'
/** Instants with a year that PostgreSQL reads as JavaScript writes it. */
const INSTANT_MIN = Date.parse('0001-01-01T00:00:00Z')
const INSTANT_MAX = Date.parse('9999-12-31T23:59:59.999Z')

/** The nearest instant that PostgreSQL reads. Zones and lengths move times of the last year beyond it. */
export const storableInstant = (instant: number): number =>
  Math.min(Math.max(instant, INSTANT_MIN), INSTANT_MAX)

/** Tells objects that the index can hold from those with values that PostgreSQL refuses. */
export function sortStorable(remotes: readonly RemoteObject[]): {
  items: RemoteObject[]
  unreadable: UnreadableItem[]
} {
  const items: RemoteObject[] = []
  const unreadable: UnreadableItem[] = []
  for (const remote of remotes) {
    const reason = findFault(remote)
    if (reason === null) items.push(storableObject(remote))
    else unreadable.push({ key: remote.key, version: remote.version, reason })
  }
  return { items, unreadable }
}

function findFault(remote: RemoteObject): string | null {
  const isTooEarly =
    (remote.event !== null && isEarly(remote.event)) || (remote.type === 'member' && remote.member < WALL_MIN)
  if (isTooEarly) return 'It has a time before the year 1'
  const lines = remote.type === 'item' ? (remote.recurrence ?? []) : []
  return lines.every(isStorableLine) ? null : 'Its recurrence has characters that cannot be stored'
}

const isEarly = ({ start, end }: Record<'start' | 'end', EventTime>): boolean =>
  start.wall < WALL_MIN || end.wall < WALL_MIN
const isStorableLine = (line: string): boolean => storable(line) === line

function storableObject(remote: RemoteObject): RemoteObject {
  const version = storable(remote.version)
  const event = remote.event && storableEvent(remote.event)
  if (remote.type === 'member') return { ...remote, version, event }
  return { ...remote, version, event, ...storableMembers(remote) }
}

/** Members of too early times cost themselves, and not their series. */
function storableMembers({
  members,
  excluded,
  occurrences,
}: RemoteItem): Pick<RemoteItem, 'members' | 'excluded' | 'occurrences'> {
  const isStorable = (member: string) => member >= WALL_MIN
  return {
    members: members && {
      exceptions: members.exceptions
        .filter(({ member, event }) => isStorable(member) && !isEarly(event))
        .map(exception => ({ ...exception, event: storableEvent(exception.event) })),
      taken: members.taken.filter(isStorable),
    },
    ...(excluded && { excluded: excluded.filter(isStorable) }),
    occurrences: occurrences?.filter(one => isStorable(one.member) && !isEarly(one)) ?? null,
  }
}

/** An event without a time of its last change if that is none. */
function storableEvent(event: RemoteEvent): RemoteEvent {
  const updatedAt = event.updatedAt?.getTime()
  const isTime = updatedAt !== undefined && updatedAt === storableInstant(updatedAt)
  return isTime || event.updatedAt === null ? event : { ...event, updatedAt: null }
}
