import type { RemoteEvent } from '../../calendars.ts'
import type { EventChange } from '../../changing-calendars.ts'
import { ProviderFailure } from '../../failure.ts'
import { attendeesJson } from './attendees.ts'
import { type HeldEvent, type Json, objectAt } from './held-event.ts'
import { meetingPatch } from './meeting-patch.ts'
import { reminderSchema } from '../event-schema.ts'
import type { WrittenCalendar } from './surroundings.ts'
import { timeJson } from './written-times.ts'

/** Start and end of an event. */
export type Times = Pick<RemoteEvent, 'start' | 'end'>

/** The means by which the fields of one write are written. */
export interface FieldWriting {
  calendar: WrittenCalendar
  /** Addresses of the account, compared. */
  own: ReadonlySet<string>
  /** Names a meeting that Google is to make. */
  requestId: string
}

/**
 * The fields of an event that a change writes, for `events.patch`: nulls clear. Throws `unsupported` for values that Google
 * does not hold.
 * @param before the event as it is; null if it is new
 * @param times its new start and end; null if they stay
 */
export function eventPatch(
  before: HeldEvent | null,
  change: EventChange,
  times: Times | null,
  { calendar, own, requestId }: FieldWriting,
): Json {
  requireHoldable(before, change, calendar)
  const { subject, attendees, showAs, sensitivity, reminderMinutes } = change
  return {
    ...(times && { start: timeJson(times.start), end: timeJson(times.end) }),
    ...(subject !== undefined && { summary: subject }),
    ...(attendees && { attendees: attendeesJson(before, attendees, own) }),
    ...(showAs && { transparency: showAs === 'free' ? 'transparent' : 'opaque' }),
    ...(sensitivity && { visibility: sensitivity === 'normal' ? 'default' : sensitivity }),
    ...(reminderMinutes !== undefined && { reminders: remindersJson(before, reminderMinutes) }),
    ...meetingPatch(before, change, requestId),
  }
}

/** The fields of an event with a patch of it. Properties of other programs stay. */
export function patched(fields: Json, patch: Json): Json {
  if (!('extendedProperties' in patch)) return { ...fields, ...patch }
  const [held, given] = [objectAt(fields, 'extendedProperties'), objectAt(patch, 'extendedProperties')]
  const own = withoutNulls({ ...objectAt(held, 'private'), ...objectAt(given, 'private') })
  return { ...fields, ...patch, extendedProperties: { ...held, private: own } }
}

/** A new event has nothing to clear. */
export function withoutNulls(json: Json): Json {
  const kept = Object.entries(json).filter(([, value]) => value !== null)
  return Object.fromEntries(
    kept.map(([name, value]) => [name, isObject(value) ? withoutNulls(value) : value]),
  )
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && !Array.isArray(value)

function requireHoldable(
  before: HeldEvent | null,
  { showAs, sensitivity, onlineMeeting }: EventChange,
  { entry }: WrittenCalendar,
): void {
  if (showAs !== undefined && showAs !== before?.fields.showAs) {
    if (showAs !== 'free' && showAs !== 'busy')
      throw unsupported(`Google Calendar has free and busy times, and not ${showAs}.`)
    const held = before?.fields.showAs ?? 'busy'
    if (held !== 'free' && held !== 'busy')
      throw unsupported('Google Calendar does not let the time of such an event become free or busy.')
  }
  if (sensitivity === 'personal')
    throw unsupported('Google Calendar has no events that are personal. They can be private.')
  if (onlineMeeting === true && !entry.allowsMeet)
    throw unsupported('The calendar does not allow meetings of Google Meet.')
}

function unsupported(message: string): ProviderFailure {
  return new ProviderFailure('unsupported', message, { isBeforeAcceptance: true })
}

/** One popup in place of those that are there. Reminders of another kind stay unless there are to be none. */
function remindersJson(before: HeldEvent | null, minutes: number | null): Json {
  if (minutes === null) return { useDefault: false, overrides: [] }
  const overrides = before ? objectAt(before.raw, 'reminders')['overrides'] : []
  const others = (Array.isArray(overrides) ? overrides : []).filter(
    each => reminderSchema.safeParse(each).data?.method !== 'popup',
  )
  return { useDefault: false, overrides: [...others, { method: 'popup', minutes }] }
}
