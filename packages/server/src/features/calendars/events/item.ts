import type { Steps } from '../../../kit/sliced-work.ts'
import { DAY_MS, isDay, requireWall } from '../../../kit/wall-clock.ts'
import { toInstant, toWall } from '../../../kit/zones/zones.ts'
import type {
  CalendarWindow,
  EventTime,
  RemoteItem,
  RemoteMember,
  RemoteOccurrence,
} from '../../../providers/calendars.ts'
import type { ShownEvent } from './shown.ts'

/** Members of a series that one step of work is done for. */
export const STEP_MEMBERS = 100

export type EventBody = { contentType: 'text' | 'html'; content: string }

/** An event of an item, as the index has it or is to have it. */
export interface ItemEvent {
  key: string | null
  version: string | null
  shown: ShownEvent
  /** Undefined: as the index has it. */
  body: EventBody | null | undefined
  /** The provider's; null: when the index learned of it. */
  updatedAt: Date | null
}

/** A single, or a series with the members that differ from its rule. */
export interface ItemState {
  uid: string | null
  version: string | null
  /** Null: a series of which only exceptions are known. */
  event: Omit<ItemEvent, 'key' | 'version'> | null
  /** Null: a single. */
  recurrence: readonly string[] | null
  /** By member. */
  exceptions: ReadonlyMap<string, ItemEvent>
  taken: ReadonlyMap<string, { key: string | null; version: string | null }>
  /** As the provider gives them, in the zones of the series, by member. Null: the rule is expanded. */
  occurrences: readonly RemoteOccurrence[] | null
}

export const NOTHING_KNOWN: ItemState = {
  uid: null,
  version: null,
  event: null,
  recurrence: null,
  exceptions: new Map(),
  taken: new Map(),
  occurrences: null,
}

type Show = (event: NonNullable<RemoteItem['event']>) => Pick<ItemEvent, 'shown' | 'body' | 'updatedAt'>

/** The item after its provider has told it as a whole. Members that are told one by one stay. */
export function* applyItem(before: ItemState, item: RemoteItem, show: Show): Steps<ItemState> {
  const { uid, version, members, excluded = [] } = item
  // A series of which only exceptions are known is none without them.
  const recurrence = item.event === null ? (item.recurrence ?? []) : item.recurrence
  const next = {
    uid,
    version,
    event: item.event && show(item.event),
    recurrence,
    occurrences: item.event && item.occurrences && occurrencesIn(item.event, item.occurrences),
  }
  if (members === null)
    return yield* settled({
      ...next,
      exceptions: recurrence === null ? new Map() : before.exceptions,
      taken: recurrence === null ? new Map() : takenWith(before, excluded),
    })
  const exceptions = new Map<string, ItemEvent>()
  for (const { member, key, event } of members.exceptions) {
    exceptions.set(member, { key, version: null, ...show(event) })
    if (exceptions.size % STEP_MEMBERS === 0) yield
  }
  return yield* settled({
    ...next,
    exceptions,
    taken: new Map(members.taken.map(member => [member, { key: null, version: null }])),
  })
}

/** The members that were reported as taken, and those that the series itself takes now: these have no key. */
function takenWith({ taken }: ItemState, excluded: readonly string[]): ItemState['taken'] {
  const reported = [...taken].filter(([, { key }]) => key !== null)
  return new Map([...excluded.map(member => [member, { key: null, version: null }] as const), ...reported])
}

/** The item after its provider has told one of its members. */
export function* applyMember(before: ItemState, told: RemoteMember, show: Show): Steps<ItemState> {
  const { key, version, member, event } = told
  const { exceptions, taken } = withoutMembers(before, new Set([key]))
  exceptions.delete(member)
  taken.delete(member)
  if (event) exceptions.set(member, { key, version, ...show(event) })
  else taken.set(member, { key, version })
  return yield* settled({ ...before, recurrence: before.recurrence ?? [], exceptions, taken })
}

/** The item after members with these keys are what their series gives. */
export function applyGoneMembers(before: ItemState, keys: ReadonlySet<string>): ItemState {
  return { ...before, ...withoutMembers(before, keys) }
}

/** Occurrences with the zones in which their series has its times. */
function occurrencesIn(
  { start, end }: Pick<ShownEvent, 'start' | 'end'>,
  occurrences: readonly RemoteOccurrence[],
): RemoteOccurrence[] {
  return occurrences.map(occurrence => ({
    ...occurrence,
    start: timeIn(start.zone, occurrence.start),
    end: timeIn(end.zone, occurrence.end),
  }))
}

function timeIn(zone: string | null, time: EventTime): EventTime {
  if (zone === null || time.zone === null || time.zone === zone || isDay(time.wall))
    return { wall: time.wall, zone }
  return { wall: toWall(toInstant(time.wall, time.zone), zone), zone }
}

function withoutMembers({ exceptions, taken }: ItemState, keys: ReadonlySet<string>) {
  const isLeft = ([, { key }]: readonly [string, { key: string | null }]) => key === null || !keys.has(key)
  return {
    exceptions: new Map([...exceptions].filter(isLeft)),
    taken: new Map([...taken].filter(isLeft)),
  }
}

/** Zones and the shape of times move an event by less than this against its wall clock in UTC. */
const EDGE_MS = 2 * DAY_MS

/** The item without the members that end before the window, and would do so if they were what the series gives. */
export function* withinWindow(state: ItemState, { start }: CalendarWindow): Steps<ItemState> {
  const isOver = (wall: string) => requireWall(wall) < start.getTime() - EDGE_MS
  const length = state.event
    ? Math.max(0, requireWall(state.event.shown.end.wall) - requireWall(state.event.shown.start.wall))
    : 0
  const isMemberOver = (member: string) => requireWall(member) + length < start.getTime() - EDGE_MS
  return {
    ...state,
    exceptions: new Map(
      yield* kept(
        [...state.exceptions],
        ([member, { shown }]) => !isMemberOver(member) || !isOver(shown.end.wall),
      ),
    ),
    taken: new Map(yield* kept([...state.taken], ([member]) => !isMemberOver(member))),
    occurrences: state.occurrences && (yield* kept(state.occurrences, ({ end }) => !isOver(end.wall))),
  }
}

function* kept<T>(all: readonly T[], isKept: (one: T) => boolean): Steps<T[]> {
  const left: T[] = []
  for (const [nth, one] of all.entries()) {
    if (isKept(one)) left.push(one)
    if ((nth + 1) % STEP_MEMBERS === 0) yield
  }
  return left
}

/** A cancelled member of a series that is known was taken from it. An exception or a taken member is no occurrence. */
function* settled(state: ItemState): Steps<ItemState> {
  yield
  if (state.event === null) return state
  const exceptions = new Map(state.exceptions)
  const taken = new Map(state.taken)
  for (const [member, { key, version, shown }] of state.exceptions)
    if (shown.status === 'cancelled') {
      exceptions.delete(member)
      taken.set(member, { key, version })
    }
  for (const member of exceptions.keys()) taken.delete(member)
  yield
  const left = state.occurrences?.filter(({ member }) => !exceptions.has(member) && !taken.has(member))
  const byMember = left && new Map(left.map(occurrence => [occurrence.member, occurrence]))
  const occurrences = byMember ? [...byMember.values()].toSorted(byMemberName) : null
  return { ...state, exceptions, taken, occurrences }
}

const byMemberName = (one: RemoteOccurrence, other: RemoteOccurrence) => (one.member < other.member ? -1 : 1)

/** Whether nothing is left of an item. */
export function isNothing({ event, exceptions, taken }: ItemState): boolean {
  return event === null && exceptions.size === 0 && taken.size === 0
}
