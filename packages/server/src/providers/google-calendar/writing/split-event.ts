import { findHits } from '../../../kit/recurrence/hits.ts'
import { isFrom, splitSeries, truncateSeries } from '../../../kit/recurrence/split-series.ts'
import type { Creation, EventChange, MemberPlace, WrittenEvents } from '../../changing-calendars.ts'
import { ProviderFailure } from '../../failure.ts'
import { newTimes, timesOfMember } from '../../new-times.ts'
import { carryExceptions } from './carry-exceptions.ts'
import { createdKey, fieldWriting } from './change-event.ts'
import { planMembers } from './change-series.ts'
import { insertEvent } from './event-calls.ts'
import { eventPatch, withoutNulls } from './event-patch.ts'
import { askHeld, awaitMeeting, changeHeld, type EventWrite, findHeld, writtenEvents } from './event-write.ts'
import { eventGone, type Json, readHeld } from './held-event.ts'
import {
  copiedFields,
  deleteExceptions,
  type HeldSeries,
  isSeries,
  loadSeries,
  recurrenceJson,
  requireSeries,
} from './series.ts'

/**
 * Makes a member of a series and those after it a series of their own, and changes that. The new series is made first, under
 * the id of the creation, with the exceptions from the member on; then the first one is truncated. So another try goes on
 * where an earlier one stopped.
 */
export async function changeFollowing(
  write: EventWrite,
  key: string,
  part: MemberPlace & Creation,
  change: EventChange,
): Promise<WrittenEvents> {
  const held = await loadSeries(write, requireSeries(await askHeld(write, key)))
  const newKey = createdKey(part)
  const exceptions = held.exceptions.filter(({ member }) => isFrom(member, part.member))
  const parts = splitSeries(held.series, part.member)
  // An earlier try may have come as far as that the members are no longer there.
  const made = part.mayExist && !parts ? await findHeld(write, newKey) : null
  if (!parts && !made) throw noPart(held, part.member)
  if (parts) await makeRest(write, { ...held, series: parts.after, exceptions }, newKey, change)
  const truncated = await truncate(write, key, part.member)
  const gone = await deleteExceptions(write, exceptions)
  const rest = await askHeld(write, newKey)
  const { answered } = isSeries(rest) ? await loadSeries(write, rest) : { answered: [] }
  return writtenEvents(write, newKey, [rest.raw, ...answered, truncated], gone)
}

/** Ends a series before a member. */
export async function removeFollowing(
  write: EventWrite,
  key: string,
  { member }: MemberPlace,
): Promise<WrittenEvents> {
  const { exceptions } = await loadSeries(write, requireSeries(await askHeld(write, key)))
  const truncated = await truncate(write, key, member)
  const later = exceptions.filter(one => isFrom(one.member, member))
  return writtenEvents(write, key, [truncated], await deleteExceptions(write, later))
}

/** Ends a series before a member. Its exceptions from there on are deleted apart: Google leaves them. */
async function truncate(write: EventWrite, key: string, member: string): Promise<unknown> {
  const { answered } = await changeHeld(
    write,
    () => askHeld(write, key),
    async (held): Promise<Json> => {
      const { series } = await loadSeries(write, held)
      const before = truncateSeries(series, member)
      // An earlier try has truncated it.
      return before && before !== series ? { recurrence: recurrenceJson(before) } : {}
    },
  )
  return answered
}

/** @param held the series from the member on, with the whole one as its master */
async function makeRest(
  write: EventWrite,
  held: HeldSeries,
  key: string,
  change: EventChange,
): Promise<void> {
  const { master, series, exceptions } = held
  const first = timesOfMember(master.fields, series.start.wall)
  const { start, end } = change
  const isSingle = change.recurrence === null
  const planned = isSingle ? null : planMembers(held, change, null)
  const times = planned?.times ?? newTimes(first, { ...(start && { start }), ...(end && { end }) })
  const { calendar, options, record } = write
  const event = withoutNulls({
    ...copiedFields(master.raw),
    ...eventPatch(master, change, times, fieldWriting(write)),
    id: key,
    recurrence: planned && recurrenceJson(planned.next),
  })
  await record.run(() => insertEvent(calendar.api, calendar.key, event, options.notify))
  const made = (await askHeld(write, key)).raw
  const after = readHeld(calendar, change.onlineMeeting ? await awaitMeeting(write, made) : made)
  if (!planned) return
  const { members } = planned
  await carryExceptions(write, { exceptions, members, before: master, times, after, change })
}

function noPart({ series }: HeldSeries, member: string): ProviderFailure {
  if (!findHits(series, [member]).has(member)) return eventGone()
  return new ProviderFailure('unsupported', 'The series cannot be split at this occurrence.', {
    isBeforeAcceptance: true,
  })
}
