import { isDeepStrictEqual } from 'node:util'
import { comparedAddress } from '../../../kit/compared-address.ts'
import type { RemoteEvent } from '../../calendars.ts'
import type { EventChange } from '../../changing-calendars.ts'
import { timesOfMember } from '../../new-times.ts'
import { changedTimes, fieldWriting } from './change-event.ts'
import { eventPatch, type Times } from './event-patch.ts'
import { changeListed, type EventWrite } from './event-write.ts'
import { type HeldEvent, type Json, objectAt, readHeld } from './held-event.ts'
import { requireFew } from './move-plan.ts'
import { copiedFields, type HeldException } from './series.ts'

/** A change of a series, whose exceptions take over the fields in which they had what the series had. */
export interface Following {
  /** The series before the change. */
  before: HeldEvent
  change: EventChange
  /** The member that the change names: it takes every field. */
  chosen: string | null
}

/** Writes the change of a series to its exceptions where they are. Nothing is written if one of them cannot have it. */
export async function followChange(
  write: EventWrite,
  exceptions: readonly HeldException[],
  following: Following,
): Promise<HeldException[]> {
  const patchOf = (member: string, held: HeldEvent): Json =>
    eventPatch(
      held,
      followedChange(held, member, following),
      chosenTimes(held, member, following),
      fieldWriting(write),
    )
  const patches = exceptions.map(({ member, held }) => patchOf(member, held))
  requireFew(patches.filter(patch => Object.keys(patch).length > 0).length)
  const followed: HeldException[] = []
  for (const { member, held } of exceptions) {
    const { answered } = await changeListed(write, held, one => patchOf(member, one))
    followed.push({ member, held: answered === held.raw ? held : readHeld(write.calendar, answered) })
  }
  return followed
}

/** The times of an exception that the change names and that has left its series. Others move along with it. */
function chosenTimes(held: HeldEvent, member: string, { before, change, chosen }: Following): Times | null {
  return member === chosen && !hasUsualTimes(held, before.fields, member) ? changedTimes(held, change) : null
}

export const hasUsualTimes = (exception: HeldEvent, series: Times, member: string): boolean =>
  isDeepStrictEqual(timesOf(exception.fields), timesOfMember(timesOf(series), member))

export const timesOf = ({ start, end }: Times): Times => ({ start, end })

const FOLLOWED = [
  'subject',
  'location',
  'body',
  'showAs',
  'sensitivity',
  'reminderMinutes',
  'onlineMeetingUrl',
] as const satisfies ReadonlyArray<keyof EventChange & keyof RemoteEvent>

/** The part of a change that an exception takes over, without times and meetings that are to be made. */
export function followedChange(
  { fields }: HeldEvent,
  member: string,
  { before, change, chosen }: Following,
): EventChange {
  const { start: _start, end: _end, recurrence: _recurrence, onlineMeeting, ...named } = change
  const { attendees, ...others } = named
  const isChosen = member === chosen
  const isInvitedAlike = addressesOf(fields) === addressesOf(before.fields)
  const names = FOLLOWED.filter(
    name => name in others && (isChosen || isDeepStrictEqual(fields[name], before.fields[name])),
  )
  return {
    ...Object.fromEntries(names.map(name => [name, change[name]])),
    ...(attendees && (isChosen || isInvitedAlike) && { attendees }),
    ...(onlineMeeting === false && (isChosen || hasMeetingOf(fields, before.fields)) && { onlineMeeting }),
  }
}

/** The meeting that a series got, for an exception that is to have it as well. */
export function followedMeeting(
  { fields }: HeldEvent,
  member: string,
  { before, change, chosen }: Following,
  after: HeldEvent,
): Json {
  if (change.onlineMeeting !== true) return {}
  if (member !== chosen && !hasMeetingOf(fields, before.fields)) return {}
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
