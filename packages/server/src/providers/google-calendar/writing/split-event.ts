import { isDeepStrictEqual } from 'node:util'
import { firstMember } from '../../../kit/recurrence/first-member.ts'
import { findHits } from '../../../kit/recurrence/hits.ts'
import { isFrom, type Series, splitSeries, truncateSeries } from '../../../kit/recurrence/split-series.ts'
import type { Creation, EventChange, MemberPlace, WrittenEvents } from '../../changing-calendars.ts'
import { ProviderFailure } from '../../failure.ts'
import { newTimes, timesOfMember } from '../../new-times.ts'
import { heldAttendees } from './attendees.ts'
import { putMember } from './carry-exceptions.ts'
import { changedTimes, createdKey, fieldWriting } from './change-event.ts'
import { askSettled, planMembers } from './change-series.ts'
import { deleteEvent, insertEvent } from './event-calls.ts'
import { eventPatch, patched, type Times, withoutNulls } from './event-patch.ts'
import { askHeld, awaitMeeting, changeHeld, type EventWrite, findHeld, writtenEvents } from './event-write.ts'
import { type Following, followedChange, followedMeeting, hasUsualTimes, timesOf } from './follow-series.ts'
import { instanceKey, requireFew } from './move-plan.ts'
import { requireNamed } from '../reading.ts'
import { eventGone, type HeldEvent, type Json, readHeld } from './held-event.ts'
import {
  copiedFields,
  deleteExceptions,
  type HeldException,
  type HeldSeries,
  isSeries,
  loadSeries,
  recurrenceJson,
  requireSeries,
} from './series.ts'

/**
 * Makes a member of a series and those after it a series of their own, and changes that. The new series is made first, under
 * the id of the creation, with the exceptions from the member on; then the first one is truncated. So another try goes on
 * where an earlier one stopped. Throws `forbidden` unless the account organizes the series, since it would invite everybody
 * to the new one.
 */
export async function changeFollowing(
  write: EventWrite,
  key: string,
  part: MemberPlace & Creation,
  change: EventChange,
): Promise<WrittenEvents> {
  const held = await loadSeries(write, requireOrganized(requireSeries(await askSettled(write, key))))
  const newKey = createdKey(part)
  const exceptions = held.exceptions.filter(({ member }) => isFrom(member, part.member))
  const parts = splitSeries(held.series, part.member)
  // An earlier try may have come as far as that the members are no longer there.
  const made = part.mayExist && !parts ? await findHeld(write, newKey) : null
  if (!parts && !made) throw noPart(held, part.member)
  if (parts) await makeRest(write, { ...held, series: parts.after, exceptions }, newKey, change)
  const ended = await endBefore(write, key, part.member)
  if (!ended) {
    // Another client has changed the series meanwhile, and the new one would double its members.
    await write.record.run(() => removeMade(write, newKey))
    throw new ProviderFailure('conflict', 'Another client has changed the series.')
  }
  const gone = await deleteExceptions(write, ended.later)
  const rest = await askHeld(write, newKey)
  const { answered } = isSeries(rest) ? await loadSeries(write, rest) : { answered: [] }
  return writtenEvents(write, newKey, [rest.raw, ...answered, ended.answered], gone)
}

/**
 * Ends a series before a member. Throws `not_found` if the series gives later members, but not this one, and `forbidden` if
 * the account may not change the series.
 */
export async function removeFollowing(
  write: EventWrite,
  key: string,
  { member }: MemberPlace,
): Promise<WrittenEvents> {
  const master = requireSeries(await askSettled(write, key))
  if (master.raw['guestsCanModify'] !== true) requireOrganized(master)
  const ended = await endBefore(write, key, member, true)
  if (!ended) throw eventGone()
  return writtenEvents(write, key, [ended.answered], await deleteExceptions(write, ended.later))
}

/** A series that ends before a member, and its exceptions from there on, which Google leaves. */
interface Ended {
  answered: unknown
  later: readonly HeldException[]
}

/**
 * Ends a series before the first member that it gives from another one on: another client may have moved it meanwhile.
 * @param onlyAt whether that must be the named member
 * @returns null if the series cannot end so. Nothing is written then
 */
async function endBefore(
  write: EventWrite,
  key: string,
  member: string,
  onlyAt = false,
): Promise<Ended | null> {
  const state: { later: readonly HeldException[] | null } = { later: null }
  const { answered } = await changeHeld(
    write,
    () => askHeld(write, key),
    async (held): Promise<Json> => {
      const { series, exceptions } = await loadSeries(write, requireSeries(held))
      state.later = exceptions.filter(one => isFrom(one.member, member))
      const first = isGiven(series, member) ? member : firstMember(series, member)
      // An earlier try, or another client, has ended it.
      if (first === null) return {}
      const before = first === member || !onlyAt ? truncateSeries(series, first) : null
      if (!before) state.later = null
      return before && !isDeepStrictEqual(before, series) ? { recurrence: recurrenceJson(before) } : {}
    },
  )
  return state.later && { answered, later: state.later }
}

const isGiven = (series: Series, member: string): boolean => findHits(series, [member]).has(member)

function requireOrganized(held: HeldEvent): HeldEvent {
  if (held.fields.self?.isOrganizer === true) return held
  throw new ProviderFailure('forbidden', 'Only the organizer can split or end a series.', {
    isBeforeAcceptance: true,
  })
}

async function removeMade({ calendar, options }: EventWrite, key: string): Promise<void> {
  await deleteEvent(calendar.api, { calendarKey: calendar.key, key }, options.notify)
}

/** @param held the series from the member on, with the whole one as its master */
async function makeRest(
  write: EventWrite,
  held: HeldSeries,
  key: string,
  change: EventChange,
): Promise<void> {
  const { master, series, exceptions } = held
  const chosen = series.start.wall
  const { start, end } = change
  const planned = change.recurrence === null ? null : planMembers(held, change, null)
  const given = { ...(start && { start }), ...(end && { end }) }
  const times = planned?.times ?? newTimes(timesOfMember(master.fields, chosen), given)
  const { calendar, options, record } = write
  const event = withoutNulls({
    ...patched(copiedFields(master.raw), eventPatch(master, change, times, fieldWriting(write))),
    id: key,
    recurrence: planned && recurrenceJson(planned.next),
  })
  const following = { before: master, change, chosen }
  const members = planned?.members ?? new Map<string, string>()
  const carried = exceptions.flatMap(one => carry(write, one, members.get(one.member), times, following))
  requireFew(carried.length)
  const isNew =
    (await record.run(() => insertEvent(calendar.api, calendar.key, event, options.notify))) !== null
  const made = await askHeld(write, key)
  const after = change.onlineMeeting ? readHeld(calendar, await awaitMeeting(write, made.raw)) : made
  const known = isNew || !planned ? [] : (await loadSeries(write, after)).answered
  const done = new Set(known.map(answered => requireNamed(answered).id))
  const { zone } = after.fields.start
  for (const { exception, member, fields, at } of carried) {
    const place = { key: instanceKey(key, member, zone), member, seriesKey: key, zone }
    // An earlier try made it, and people may have answered since.
    if (done.has(place.key)) continue
    const meeting = followedMeeting(exception.held, exception.member, following, after)
    await putMember(write, place, { ...fields, ...meeting }, at)
  }
}

/** An exception as the new series gets it; nothing if it has no member there. */
function carry(
  write: EventWrite,
  exception: HeldException,
  member: string | undefined,
  times: Times,
  following: Following,
) {
  if (member === undefined) return []
  const { held, member: former } = exception
  if (held.raw['attendeesOmitted'] === true) heldAttendees(held)
  const change = followedChange(held, former, following)
  const fields = patched(copiedFields(held.raw), eventPatch(held, change, null, fieldWriting(write)))
  const isUsual = hasUsualTimes(held, following.before.fields, former)
  const own = former === following.chosen ? changedTimes(held, following.change) : null
  return [
    { exception, member, fields, at: isUsual ? timesOfMember(times, member) : (own ?? timesOf(held.fields)) },
  ]
}

function noPart({ series }: HeldSeries, member: string): ProviderFailure {
  if (!isGiven(series, member)) return eventGone()
  return new ProviderFailure('unsupported', 'The series cannot be split at this occurrence.', {
    isBeforeAcceptance: true,
  })
}
