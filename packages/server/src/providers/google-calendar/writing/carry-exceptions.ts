import { isDeepStrictEqual } from 'node:util'
import { timesOfMember } from '../../new-times.ts'
import { patchEvent, putEvent } from './event-calls.ts'
import { patched, type Times, withoutNulls } from './event-patch.ts'
import type { EventWrite } from './event-write.ts'
import { type HeldEvent, type Json, readHeld } from './held-event.ts'
import { hasUsualTimes, timesOf } from './follow-series.ts'
import {
  baseOf,
  formerTimes,
  instanceKey,
  isMovedBy,
  MARK,
  type MovePlan,
  targetOf,
  withoutPlan,
} from './move-plan.ts'
import { copiedFields, deleteExceptions, type HeldException } from './series.ts'
import { timeJson } from './written-times.ts'

/** The effect of carrying exceptions: the answers for members, by their keys, and keys that differ no more. */
export interface Carried {
  answered: ReadonlyMap<string, unknown>
  gone: readonly string[]
  /** The series after the last call. */
  last: unknown
}

/**
 * Carries out what is left of a plan: each exception is written whole at its new place, members that the series gives again are
 * as it says, and places that are no members are deleted. An exception is written before its own place is written over,
 * so that the call can be repeated.
 * @param after the series at its new place
 */
export async function finishMove(
  write: EventWrite,
  after: HeldEvent,
  exceptions: readonly HeldException[],
  plan: MovePlan,
): Promise<Carried> {
  const { zone } = after.fields.start
  const sources = new Map(exceptions.map(exception => [exception.held.key, exception]))
  const isDone = (key: string) => sources.has(key) && isMovedBy(sources.get(key)!.held, plan)
  const answered = new Map<string, unknown>()
  for (const exception of exceptions)
    if (isMovedBy(exception.held, plan)) answered.set(exception.held.key, exception.held.raw)
  const put = async (key: string, member: string, fields: Json, times: Times) => {
    const marked = patched(fields, { extendedProperties: { private: { [MARK]: plan.id } } })
    answered.set(key, await putMember(write, { key, member, seriesKey: after.key, zone }, marked, times))
  }
  const targets = new Set(plan.moves.flatMap(move => targetOf(move, zone) ?? []))
  for (const [former, member] of inOrder(plan.moves, zone)) {
    const source = sources.get(former)
    if (!source || member === null || isDone(former)) continue
    const key = instanceKey(baseOf(former), member, zone)
    if (isDone(key)) continue
    const { held } = source
    const isUsual = hasUsualTimes(held, formerTimes(plan), source.member)
    const times = isUsual ? timesOfMember(timesOf(after.fields), member) : timesOf(held.fields)
    if (key === former && isDeepStrictEqual(times, timesOf(held.fields))) answered.set(key, held.raw)
    else await put(key, member, copiedFields(held.raw), times)
  }
  for (const [key, member] of plan.restored)
    if (!isDone(key))
      await put(key, member, copiedFields(after.raw), timesOfMember(timesOf(after.fields), member))
  const kept = new Set([...targets, ...plan.restored.map(([key]) => key)])
  const ended = plan.moves.map(([key]) => key).filter(key => !kept.has(key))
  const gone = await deleteExceptions(
    write,
    ended.flatMap(key => sources.get(key) ?? []),
  )
  const { calendar, record } = write
  const last = await record.run(() =>
    patchEvent(calendar.api, { calendarKey: calendar.key, key: after.key }, withoutPlan(after), {
      notify: false,
      ifMatch: null,
    }),
  )
  return { answered, gone: [...new Set([...gone, ...ended])], last }
}

/** Moves in an order in which none is written over the place of one that comes later, as far as there is one. */
function inOrder(moves: MovePlan['moves'], zone: string | null): MovePlan['moves'] {
  const left = new Map(moves.map(move => [move[0], move]))
  const ordered: MovePlan['moves'] = []
  while (left.size > 0) {
    const free = [...left.values()].find(move => {
      const target = targetOf(move, zone)
      return target === null || target === move[0] || !left.has(target)
    })
    const next = free ?? [...left.values()][0]!
    left.delete(next[0])
    ordered.push(next)
  }
  return ordered
}

/** A member of a series by its key. */
export interface MemberKey {
  key: string
  member: string
  seriesKey: string
  zone: string | null
}

/** Writes a member whole, whatever lies at its place. */
export async function putMember(
  { calendar, options, record }: EventWrite,
  { key, member, seriesKey, zone }: MemberKey,
  fields: Json,
  times: Times,
): Promise<unknown> {
  const event = withoutNulls({
    ...fields,
    id: key,
    recurringEventId: seriesKey,
    originalStartTime: timeJson({ wall: member, zone }),
    start: timeJson(times.start),
    end: timeJson(times.end),
  })
  const place = { calendarKey: calendar.key, key }
  return record.run(() => putEvent(calendar.api, place, event, options.notify))
}

/** A series without the plan of a move, and what it has by now. */
export const readCarried = (write: EventWrite, { last }: Carried): HeldEvent => readHeld(write.calendar, last)
