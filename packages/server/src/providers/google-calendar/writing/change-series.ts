import { isDeepStrictEqual } from 'node:util'
import type { Series } from '../../../kit/recurrence/split-series.ts'
import type { EventChange, WrittenEvents } from '../../changing-calendars.ts'
import { ProviderFailure } from '../../failure.ts'
import { timesOfMember } from '../../new-times.ts'
import { changeSeries } from '../../series-change.ts'
import { carryExceptions } from './carry-exceptions.ts'
import { changedTimes, fieldWriting, newRecurrence } from './change-event.ts'
import { eventPatch, type Times } from './event-patch.ts'
import { askHeld, awaitMeeting, changeHeld, type EventWrite, writtenEvents } from './event-write.ts'
import { type HeldEvent, type Json, readHeld } from './held-event.ts'
import {
  deleteExceptions,
  firstMember,
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
}

/**
 * Changes a single or a whole series. The exceptions of a series stay: they move along with it, and take over what changed
 * where they had what the series had. Exceptions that it does not give any more are deleted.
 * @param timesOf the member whose times those of the change are; null: the first
 */
export async function changeWhole(
  write: EventWrite,
  key: string,
  change: EventChange,
  timesOf: string | null,
): Promise<WrittenEvents> {
  const planned: SeriesPlan[] = []
  const { answered } = await changeHeld(
    write,
    () => askHeld(write, key),
    async held => {
      planned.length = 0
      if (!isSeries(held)) return patchSingle(write, held, change)
      const plan = planSeries(await loadSeries(write, held), change, timesOf)
      planned.push(plan)
      return patchSeries(write, plan, change)
    },
  )
  const last = change.onlineMeeting ? await awaitMeeting(write, answered) : answered
  const [plan] = planned
  if (!plan) return writtenEvents(write, key, [last])
  const { before, times, members } = plan
  const after = readHeld(write.calendar, last)
  const { master, exceptions } = before
  const carrying = { exceptions, members, before: master, times, after, change }
  const carried = await carryExceptions(write, carrying)
  const gone = await deleteExceptions(write, carried.left)
  return writtenEvents(write, key, [last, ...carried.answered], gone)
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
  if (change.recurrence !== null) return { before, ...planMembers(before, change, timesOf) }
  const { start, end } =
    changedTimes(before.master, change, timesOf) ?? firstTimes(before) ?? before.master.fields
  return { before, times: { start, end }, next: null, members: new Map() }
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

function patchSeries(write: EventWrite, { before, times, next }: SeriesPlan, change: EventChange): Json {
  const { master, series } = before
  const { start, end } = master.fields
  const isMoved = !isDeepStrictEqual(times, { start, end })
  return {
    ...eventPatch(master, change, isMoved ? times : null, fieldWriting(write)),
    ...(!isDeepStrictEqual(next, series) && { recurrence: next && recurrenceJson(next) }),
  }
}

/** Times of the first member that was not taken; null if none is left. */
function firstTimes({ master, series, exceptions }: HeldSeries): Times | null {
  const first = firstMember(series, series.start.wall)
  if (first === null) return null
  const { start, end } = exceptions.find(({ member }) => member === first)?.held.fields ?? {}
  return start && end ? { start, end } : timesOfMember(master.fields, first)
}
