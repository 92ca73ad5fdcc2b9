import { firstMember } from '../../../kit/recurrence/first-member.ts'
import { randomUUID } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Series } from '../../../kit/recurrence/split-series.ts'
import type { EventChange, TimesOf, WrittenEvents } from '../../changing-calendars.ts'
import { ProviderFailure } from '../../failure.ts'
import { timesOfMember } from '../../new-times.ts'
import { changeSeries, requireChangeFrom } from '../../series-change.ts'
import { finishMove } from './carry-exceptions.ts'
import { changedTimes, fieldWriting, newRecurrence } from './change-event.ts'
import { eventPatch, type Times } from './event-patch.ts'
import { askHeld, awaitMeeting, changeHeld, type EventWrite, writtenEvents } from './event-write.ts'
import { followChange, followedMeeting } from './follow-series.ts'
import { type HeldEvent, type Json, objectAt, readHeld } from './held-event.ts'
import { type MovePlan, planMove, planProperties, readPlan, targetOf } from './move-plan.ts'
import {
  differencesOf,
  type HeldException,
  type HeldSeries,
  isSeries,
  loadSeries,
  recurrenceJson,
} from './series.ts'

/** A series as it is to become. */
interface SeriesPlan {
  before: HeldSeries
  times: Times
  /** Null: a single. */
  next: Series | null
  /** New names of exceptions by their former ones. */
  members: ReadonlyMap<string, string>
  /** The member that the change names. */
  chosen: string | null
}

interface WholeChange {
  plan: SeriesPlan
  /** The exceptions that stay, with the changed fields, where they were. */
  followed: readonly HeldException[]
  move: MovePlan | null
  /** As it is applied. */
  change: EventChange
}

/**
 * Changes a single or a whole series. The exceptions of a series stay: they take over what changed where they had what the
 * series had, and move along with it. Exceptions that it does not give any more are deleted. A move that an earlier
 * write has not ended is ended first.
 * @param planned the member whose times those of the change are; null: the first
 */
export async function changeWhole(
  write: EventWrite,
  key: string,
  asked: EventChange,
  planned: TimesOf | null,
): Promise<WrittenEvents> {
  const state: { whole: WholeChange | null } = { whole: null }
  const ended: string[] = []
  const { answered } = await changeHeld(
    write,
    () => askSettled(write, key, ended),
    async held => {
      state.whole = null
      const { change, timesOf } = requireChangeFrom(held.fields.start, asked, planned)
      if (!isSeries(held)) return patchSingle(write, held, change)
      const plan = planSeries(await loadSeries(write, held), change, timesOf)
      const patch = patchSeries(write, plan, change)
      const { before, next, members, chosen } = plan
      const move = isPlaced(plan) ? planMove(randomUUID(), before, next, members) : null
      const staying = before.exceptions.filter(({ member }) => members.has(member))
      const followed = await followChange(write, staying, { before: before.master, change, chosen })
      state.whole = { plan, followed, move, change }
      if (!move) return patch
      const own = objectAt(objectAt(patch, 'extendedProperties'), 'private')
      return { ...patch, extendedProperties: { private: { ...own, ...planProperties(move) } } }
    },
  )
  const last = asked.onlineMeeting ? await awaitMeeting(write, answered) : answered
  const { whole } = state
  if (!whole) return writtenEvents(write, key, [last], ended)
  const { plan, followed, move, change } = whole
  const after = readHeld(write.calendar, last)
  const left = plan.before.exceptions.filter(({ member }) => !plan.members.has(member))
  const carried = move
    ? await finishMove(write, after, [...followed, ...left], move)
    : { answered: new Map(followed.map(({ held }) => [held.key, held.raw])), gone: [], last }
  const { zone } = after.fields.start
  const meetings = new Map<string, unknown>()
  for (const { member, held } of followed) {
    const following = { before: plan.before.master, change, chosen: plan.chosen }
    const meeting = followedMeeting(held, member, following, after)
    if (Object.keys(meeting).length === 0) continue
    const place = targetOf([held.key, plan.members.get(member) ?? null], zone) ?? held.key
    const written = await changeHeld(
      write,
      () => askHeld(write, place),
      () => meeting,
    )
    meetings.set(place, written.answered)
  }
  const members = new Map([...carried.answered, ...meetings])
  return writtenEvents(write, key, [carried.last, ...members.values()], [...ended, ...carried.gone])
}

/** Reads an event, and ends a move of it that an earlier write has begun. */
export async function askSettled(write: EventWrite, key: string, ended: string[] = []): Promise<HeldEvent> {
  const held = await askHeld(write, key)
  const plan = readPlan(held)
  if (!plan) return held
  const carried = await finishMove(write, held, (await loadSeries(write, held)).exceptions, plan)
  ended.push(...carried.gone)
  return readHeld(write.calendar, carried.last)
}

/** The patch of a single, which may become a series. */
function patchSingle(write: EventWrite, held: HeldEvent, change: EventChange): Json {
  const { recurrence } = change
  const times = changedTimes(held, change)
  if (!recurrence) return eventPatch(held, change, times, fieldWriting(write))
  // A series needs the zone of its start.
  const { start, end } = times ?? held.fields
  return {
    ...eventPatch(held, change, { start, end }, fieldWriting(write)),
    recurrence: newRecurrence(recurrence, start),
  }
}

function planSeries(before: HeldSeries, change: EventChange, timesOf: string | null): SeriesPlan {
  if (change.recurrence !== null) return { before, ...planMembers(before, change, timesOf), chosen: timesOf }
  const { start, end } =
    changedTimes(before.master, change, timesOf) ?? firstTimes(before) ?? before.master.fields
  return { before, times: { start, end }, next: null, members: new Map(), chosen: timesOf }
}

/**
 * A series with other times or another rule. Members that were taken or are exceptions move along.
 * @param timesOf the member whose times those of the change are; null: the first
 * @throws ProviderFailure `unsupported` if no rule like that of the series gives its new start
 */
export function planMembers(
  { master: { fields }, series, exceptions }: Pick<HeldSeries, 'master' | 'series' | 'exceptions'>,
  { start, end, recurrence }: EventChange,
  timesOf: string | null,
): Pick<SeriesPlan, 'times' | 'members'> & { next: Series } {
  if (recurrence) newRecurrence(recurrence, start ?? series.start)
  const changed = changeSeries(
    {
      times: { start: series.start, end: timesOfMember(fields, series.start.wall).end },
      lines: series.lines,
      taken: series.taken,
      exceptions: exceptions.map(({ member }) => member),
    },
    { ...(start && { start }), ...(end && { end }), ...(recurrence && { recurrence }) },
    timesOf,
  )
  if (!changed)
    throw new ProviderFailure('unsupported', 'No rule like that of the series gives its new start.', {
      isBeforeAcceptance: true,
    })
  const { times, lines, taken, exceptions: members } = changed
  return { times, members, next: { start: times.start, lines, taken } }
}

/** Whether the members get other places or times. */
function isPlaced({ before: { master, series }, times, next }: SeriesPlan): boolean {
  const { start, end } = master.fields
  return !isDeepStrictEqual(next, series) || !isDeepStrictEqual(times, { start, end })
}

function patchSeries(write: EventWrite, { before, times, next }: SeriesPlan, change: EventChange): Json {
  const { master, series } = before
  const { start, end } = master.fields
  const isMoved = !isDeepStrictEqual(times, { start, end })
  const first = next ? null : firstException(before)
  return {
    // A single is what the first occurrence was.
    ...(first && differencesOf(first.raw, master.raw)),
    ...eventPatch(first ?? master, change, isMoved ? times : null, fieldWriting(write)),
    ...(!isDeepStrictEqual(next, series) && { recurrence: next && recurrenceJson(next) }),
  }
}

/** The first member that was not taken, if it is an exception. */
function firstException({ series, exceptions }: HeldSeries): HeldEvent | null {
  const first = firstMember(series, series.start.wall)
  return exceptions.find(({ member }) => member === first)?.held ?? null
}

/** Times of the first member that was not taken; null if none is left. */
function firstTimes(before: HeldSeries): Times | null {
  const { master, series } = before
  const { start, end } = firstException(before)?.fields ?? {}
  if (start && end) return { start, end }
  const first = firstMember(series, series.start.wall)
  return first === null ? null : timesOfMember(master.fields, first)
}
