import { isDeepStrictEqual } from 'node:util'
import { comparedAddress } from '../../../kit/compared-address.ts'
import type { RemoteEvent } from '../../calendars.ts'
import type { EventChange } from '../../changing-calendars.ts'
import { timesOfMember } from '../../new-times.ts'
import { fieldWriting } from './change-event.ts'
import { eventPatch, type Times } from './event-patch.ts'
import { askHeld, askInstance, changeHeld, type EventWrite } from './event-write.ts'
import { type HeldEvent, type Json, objectAt } from './held-event.ts'
import { copiedFields, differencesOf, type HeldException } from './series.ts'
import { originalStartOf, timeJson } from './written-times.ts'

/** A series before a change and after it, to which its exceptions are carried. */
export interface Carrying {
  exceptions: readonly HeldException[]
  /** New names of the exceptions by their former ones. An exception that is absent has no member any more. */
  members: ReadonlyMap<string, string>
  before: HeldEvent
  /** Times of the series after the change. */
  times: Times
  /** The series after the change. */
  after: HeldEvent
  change: EventChange
}

/** The answers for exceptions that were changed, and those that the series before has no use for any more. */
export interface Carried {
  answered: unknown[]
  left: HeldException[]
}

/**
 * Carries the exceptions of a series along with a change. Each takes over what it had like the series, and keeps what it had
 * of its own. An exception that has another place after the change is made there, and
 * is left where it was.
 */
export async function carryExceptions(write: EventWrite, carrying: Carrying): Promise<Carried> {
  const { exceptions, members, before, after } = carrying
  const isSameSeries = before.key === after.key && before.fields.start.zone === after.fields.start.zone
  const carried: Carried = { answered: [], left: [] }
  for (const exception of exceptions) {
    const member = members.get(exception.member)
    const isSame = isSameSeries && member === exception.member
    if (!isSame) carried.left.push(exception)
    if (member === undefined) continue
    carried.answered.push(
      await (isSame
        ? changeInPlace(write, carrying, exception)
        : makeAnew(write, carrying, exception, member)),
    )
  }
  return carried
}

async function changeInPlace(
  write: EventWrite,
  carrying: Carrying,
  { member, held: exception }: HeldException,
): Promise<unknown> {
  const { before, times } = carrying
  const isUsual = hasUsualTimes(exception, before, member)
  const isMoved = isUsual && !isDeepStrictEqual(timesOf(before.fields), timesOf(times))
  const { answered } = await changeHeld(
    write,
    () => askHeld(write, exception.key),
    held => ({
      ...eventPatch(
        held,
        followedChange(held, carrying),
        isMoved ? timesOfMember(times, member) : null,
        fieldWriting(write),
      ),
      ...followedMeeting(held, carrying),
    }),
  )
  return answered
}

async function makeAnew(
  write: EventWrite,
  carrying: Carrying,
  { member: former, held: exception }: HeldException,
  member: string,
): Promise<unknown> {
  const { before, after } = carrying
  const originalStart = originalStartOf(member, after.fields.start.zone)
  const { start, end } = exception.fields
  const { answered } = await changeHeld(
    write,
    () => askInstance(write, after.key, originalStart),
    () => ({
      ...differencesOf(exception.raw, before.raw),
      ...eventPatch(exception, followedChange(exception, carrying), null, fieldWriting(write)),
      ...(!hasUsualTimes(exception, before, former) && { start: timeJson(start), end: timeJson(end) }),
    }),
  )
  return answered
}

const timesOf = ({ start, end }: Times): Times => ({ start, end })

const hasUsualTimes = (exception: HeldEvent, series: HeldEvent, member: string): boolean =>
  isDeepStrictEqual(timesOf(exception.fields), timesOfMember(timesOf(series.fields), member))

const FOLLOWED = [
  'subject',
  'location',
  'body',
  'showAs',
  'sensitivity',
  'reminderMinutes',
  'onlineMeetingUrl',
] as const satisfies ReadonlyArray<keyof EventChange & keyof RemoteEvent>

/** The part of a change that an exception takes over: fields in which it had what the series had. */
function followedChange({ fields }: HeldEvent, { before, change }: Carrying): EventChange {
  const names = FOLLOWED.filter(
    name => name in change && isDeepStrictEqual(fields[name], before.fields[name]),
  )
  const { attendees, onlineMeeting } = change
  const isInvitedAlike = addressesOf(fields) === addressesOf(before.fields)
  return {
    ...Object.fromEntries(names.map(name => [name, change[name]])),
    ...(attendees && isInvitedAlike && { attendees }),
    ...(onlineMeeting === false && hasMeetingOf(fields, before.fields) && { onlineMeeting }),
  }
}

/** An exception has the meeting that its series got. */
function followedMeeting({ fields }: HeldEvent, { before, change, after }: Carrying): Json {
  if (change.onlineMeeting !== true || !hasMeetingOf(fields, before.fields)) return {}
  const conferenceData = objectAt(copiedFields(after.raw), 'conferenceData')
  return Object.keys(conferenceData).length > 0 ? { conferenceData } : {}
}

const hasMeetingOf = (one: RemoteEvent, other: RemoteEvent): boolean =>
  one.onlineMeetingUrl === other.onlineMeetingUrl

const addressesOf = ({ attendees }: RemoteEvent): string =>
  attendees
    .map(({ address }) => comparedAddress(address))
    .toSorted()
    .join(' ')
