import type {
  EventChangeInput,
  EventResponseInput,
  EventScope,
} from '@waxwing/contract/calendars/calendar-event-input.ts'
import { refuse } from '../../../calls/refuse.ts'
import { comparedAddress } from '../../../kit/compared-address.ts'
import { isDay } from '../../../kit/wall-clock.ts'
import { toInstant, toWall } from '../../../kit/zones/zones.ts'
import { abilitiesOf } from '../../../providers/abilities.ts'
import type { EventTime } from '../../../providers/calendars.ts'
import type { ChangedPart, EventChange, RemovedPart } from '../../../providers/changing-calendars.ts'
import { newTimes, timesOfMember } from '../../../providers/new-times.ts'
import type { IndexedCalendar } from '../calendars/store.ts'
import type { EventTarget } from '../events/find-target.ts'
import type { AskedChange, AskedResponse } from './ask-events.ts'
import { requireRecurrence } from './plan-event.ts'
import { readEventTime, readPlainFields, refuseInput, requireSeriesZone, requireTimes } from './read-input.ts'
import { type FoundTarget, requireNamed } from './require-target.ts'

/** The part of an item that a request is about. `following` is never said of the first occurrence. */
export type AskedPart = 'all' | 'member' | 'following'

/**
 * The part that an id and a scope choose.
 * @param isFirst whether the target is the first occurrence of its series
 */
export function planPart(target: EventTarget, scope: EventScope, isFirst: boolean): AskedPart {
  if (target.member === null) {
    if (scope !== undefined && scope !== 'series')
      refuseInput(['scope'], 'is taken only for an occurrence of a series, unless it is series')
    return 'all'
  }
  if (scope === undefined || scope === 'this') return 'member'
  if (target.root.shown === null)
    refuse('provider_unsupported', undefined, {
      message: 'The series of this event is not known, so only the event itself can be changed.',
    })
  return scope === 'series' || isFirst ? 'all' : 'following'
}

function changedPart({ root, member }: EventTarget, part: AskedPart, creationId: string): ChangedPart {
  if (part === 'all' || member === null) {
    const seriesStart = root.shown?.start ?? null
    return { type: 'all', timesOf: member && { ...member, seriesStart } }
  }
  return part === 'member'
    ? { type: part, ...member }
    : { type: part, ...member, creationId, mayExist: false }
}

export function planRemoval({ member }: EventTarget, part: AskedPart): RemovedPart {
  return part === 'all' || member === null ? { type: 'all' } : { type: part, ...member }
}

/** The response that a body gives. Refuses one by the organizer, by somebody who is not invited, and to a cancelled event. */
export function planResponse(
  { shown, member }: EventTarget,
  { response, comment }: EventResponseInput,
  own: ReadonlySet<string>,
): Omit<AskedResponse, 'type' | 'place'> {
  if (shown.isOrganizer) refuse('organizer_cannot_respond')
  const isNamed = shown.attendees.some(({ address }) => own.has(comparedAddress(address)))
  const isInvited = isNamed || shown.selfResponse !== 'none'
  if (!isInvited || shown.status === 'cancelled')
    refuse('provider_rejected', undefined, {
      message: isInvited ? 'The event is cancelled.' : 'The account is not invited to this event.',
    })
  return {
    response,
    comment: comment?.trim() ? comment : null,
    part: member === null ? { type: 'all' } : { type: 'member', ...member },
  }
}

/** The fields that concern nobody but the account. */
const OWN_FIELDS: ReadonlySet<string> = new Set(['showAs', 'sensitivity', 'reminderMinutes'])

const isOwnChange = (change: EventChange) => Object.keys(change).every(name => OWN_FIELDS.has(name))

/** Whether an event, or the series that it belongs to, has people besides the account. */
export const hasOthers = ({ shown, root }: EventTarget, own: ReadonlySet<string>): boolean =>
  [shown, ...(root.shown ? [root.shown] : [])].some(
    ({ isOrganizer, attendees }) =>
      !isOrganizer || attendees.some(({ address }) => !own.has(comparedAddress(address))),
  )

/**
 * The change of an event that a body asks for. Refuses what cannot be.
 * @param creationId of what the change makes
 */
export async function planChange(
  { writing, target, calendar, place }: FoundTarget,
  part: AskedPart,
  body: EventChangeInput,
  creationId: string,
): Promise<{ asked: AskedChange; to: IndexedCalendar | null; concernsOthers: boolean }> {
  const { account, own } = writing
  if (body.recurrence !== undefined && part === 'member') refuse('recurrence_on_instance')
  const change = await readChange({ writing, target, calendar }, part, body)
  const { guestsMayChange } = abilitiesOf(account.provider)
  if (!target.shown.isOrganizer && part === 'following')
    refuse('provider_forbidden', undefined, {
      message: 'The account does not organize this series, so it cannot split it.',
    })
  if (!target.shown.isOrganizer && !guestsMayChange && !isOwnChange(change))
    refuse('provider_forbidden', undefined, {
      message:
        'The account does not organize this event. It may change showAs, sensitivity, reminderMinutes and calendarId.',
    })
  const named = body.calendarId === undefined ? calendar : requireNamed(writing, body.calendarId)
  const to = named.id === calendar.id ? null : named
  if (to && part !== 'all')
    refuse('provider_unsupported', undefined, {
      message: 'Only a single or a whole series can be moved to another calendar.',
    })
  const invites = (change.attendees?.length ?? 0) > 0
  return {
    asked: {
      type: 'change',
      place,
      part: changedPart(target, part, creationId),
      change,
      toCalendarKey: to && to.provider_key,
      creation: { creationId, mayExist: false },
    },
    to,
    concernsOthers: !isOwnChange(change) && (invites || hasOthers(target, own)),
  }
}

async function readChange(
  { writing, target, calendar }: Omit<FoundTarget, 'place'>,
  part: AskedPart,
  body: EventChangeInput,
): Promise<EventChange> {
  const options = writing.planFor(calendar)
  // A single has none to take away.
  const recurrence = body.recurrence === null && target.root.kind === 'single' ? undefined : body.recurrence
  const isSeries =
    recurrence ?? (recurrence === undefined && target.root.kind === 'series' && part !== 'member')
  if (isSeries && body.start) requireSeriesZone(body.start)
  const times = readTimes(target, body, options.unzoned)
  const start = startAfter(target, part, times)
  return {
    ...readPlainFields(body, writing.own),
    ...times,
    ...(recurrence !== undefined && {
      recurrence: recurrence && (await requireRecurrence(recurrence, start, options)),
    }),
  }
}

/** The start of what a change is about. A series moves by the difference that it makes to one of its members. */
function startAfter(
  { root, shown, member }: EventTarget,
  part: AskedPart,
  times: Pick<EventChange, 'start' | 'end'>,
): EventTime {
  if (member === null || root.shown === null) return times.start ?? shown.start
  if (part !== 'all') return times.start ?? timesOfMember(root.shown, member.member).start
  return newTimes(root.shown, times, member.member).start
}

/** An end in the zone that it can have: that of a floating start is floating as well (RFC 5545 section 3.8.2.2). */
function endLike(start: EventTime, end: EventTime, unzoned: string): EventTime {
  if (start.zone !== null || end.zone === null || isDay(start.wall)) return end
  return { wall: toWall(toInstant(end.wall, end.zone), unzoned), zone: null }
}

function readTimes(
  { shown }: EventTarget,
  { start, end }: Pick<EventChangeInput, 'start' | 'end'>,
  unzoned: string,
): Pick<EventChange, 'start' | 'end'> {
  const newStart = start && readEventTime(start, 'start', shown.start.zone ?? 'UTC')
  const givenEnd = end && readEventTime(end, 'end', newStart?.zone ?? shown.end.zone ?? 'UTC')
  const newEnd = givenEnd && endLike(newStart ?? shown.start, givenEnd, unzoned)
  if (newStart && !newEnd && isDay(newStart.wall) !== isDay(shown.end.wall))
    refuse('mixed_event_times', undefined, {
      message: 'Start and end must both be dates or both be date-times. Give end as well.',
    })
  if (newEnd) requireTimes(newStart ?? shown.start, newEnd, unzoned)
  return { ...(newStart && { start: newStart }), ...(newEnd && { end: newEnd }) }
}
