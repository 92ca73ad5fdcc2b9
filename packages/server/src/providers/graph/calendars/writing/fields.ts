import { comparedAddress } from '../../../../kit/compared-address.ts'
import type { RemoteEvent } from '../../../calendars.ts'
import type { AskedAttendee, WritableFields } from '../../../changing-calendars.ts'
import { ProviderFailure } from '../../../failure.ts'
import { withJoinLine, withoutJoinLine } from '../../../join-line.ts'
import { withMeeting } from './bodies.ts'
import type { EventThere } from './there.ts'

/** The fields of an event but for its times and its recurrence. */
export type PlainFields = Omit<WritableFields, 'start' | 'end' | 'recurrence'>

const SHOW_AS: Readonly<Record<WritableFields['showAs'], string>> = {
  free: 'free',
  busy: 'busy',
  tentative: 'tentative',
  oof: 'oof',
  working_elsewhere: 'workingElsewhere',
}

type Patch = Record<string, unknown>

/**
 * Properties of Graph for fields of an event; those that are there already are left out. Throws `unsupported` for an online
 * meeting that is to end.
 * @param there the event that is changed; null for a new one
 * @param own the addresses of the account, which stay among the attendees
 */
export function toPatch(
  change: Partial<PlainFields>,
  there: EventThere | null,
  own: ReadonlySet<string> = new Set(),
): Patch {
  const fields = there?.fields ?? null
  return {
    ...(isNews(change.subject, fields?.subject) && { subject: change.subject ?? '' }),
    ...(isNews(change.showAs, fields?.showAs) && { showAs: SHOW_AS[change.showAs!] }),
    ...(isNews(change.sensitivity, fields?.sensitivity) && { sensitivity: change.sensitivity }),
    ...(isNews(change.reminderMinutes, fields?.reminderMinutes) && reminderOf(change.reminderMinutes!)),
    ...attendeesOf(change.attendees, there, own),
    ...meetingOf(change.onlineMeeting, there),
    ...locationOf(change, there),
    ...bodyOf(change, there),
  }
}

const isNews = (wanted: unknown, there: unknown): boolean =>
  wanted !== undefined && (there === undefined || wanted !== there)

const reminderOf = (minutes: number | null): Patch =>
  minutes === null ? { isReminderOn: false } : { isReminderOn: true, reminderMinutesBeforeStart: minutes }

/** Attendees who stay are sent back with what else Graph has of them. */
function attendeesOf(
  asked: readonly AskedAttendee[] | undefined,
  there: EventThere | null,
  own: ReadonlySet<string>,
): Patch {
  if (asked === undefined) return {}
  const given = attendeesThere(there)
  const known = new Map(given.map(one => [one.address, one.raw]))
  const shown = new Map(there?.fields.attendees.map(one => [comparedAddress(one.address), one]) ?? [])
  const others = asked.map(({ name, address, type }) => {
    const before = known.get(comparedAddress(address))
    const emailAddress = { address, ...(before?.['emailAddress'] as object), ...(name !== null && { name }) }
    return { ...before, type, emailAddress }
  })
  const kept = given.filter(({ address }) => own.has(address)).map(({ raw }) => raw)
  const isSame =
    others.length + kept.length === given.length &&
    asked.every(one => shown.get(comparedAddress(one.address))?.type === one.type)
  return there && isSame ? {} : { attendees: [...kept, ...others] }
}

/** Attendees as Graph has them, by their addresses. */
function attendeesThere(there: EventThere | null): Array<{ address: string; raw: Record<string, unknown> }> {
  const raw = there?.item['attendees']
  if (!there || !Array.isArray(raw)) return []
  return (there.event.attendees ?? []).map((one, index) => ({
    address: comparedAddress(one.emailAddress?.address ?? ''),
    // Both lists have the same order.
    raw: raw[index] as Record<string, unknown>,
  }))
}

function meetingOf(isWanted: boolean | undefined, there: EventThere | null): Patch {
  const has = there?.item['isOnlineMeeting'] === true
  if (isWanted === false && has)
    throw new ProviderFailure('unsupported', 'Exchange does not take an online meeting from its event.')
  if (!isWanted || has) return {}
  return { isOnlineMeeting: true, onlineMeetingProvider: 'teamsForBusiness' }
}

/** The link of a location, which is that to a meeting at another service. */
const linkOf = (there: EventThere | null): string | null => there?.event.location?.locationUri || null

/** The link to a meeting is that of the location, and its text if it has none. */
function locationOf({ location, onlineMeetingUrl }: Partial<PlainFields>, there: EventThere | null): Patch {
  if (location === undefined && onlineMeetingUrl === undefined) return {}
  const before = linkOf(there)
  const url = onlineMeetingUrl === undefined ? before : onlineMeetingUrl
  const shown = location === undefined ? (there?.fields.location ?? null) : location
  const text = shown !== null && shown === before && url !== before ? null : shown
  if (there && url === before && text === there.fields.location) return {}
  if (!there && url === null && text === null) return {}
  return { location: { displayName: text ?? url ?? '', ...(url !== null && { locationUri: url }) } }
}

function bodyOf({ body, onlineMeetingUrl }: Partial<PlainFields>, there: EventThere | null): Patch {
  const before = there?.fields.body ?? null
  const former = linkOf(there)
  const url = onlineMeetingUrl === undefined ? former : onlineMeetingUrl
  let wanted: RemoteEvent['body'] | undefined = body
  // A link that is no longer the event's own leaves the body.
  if (body === undefined && former !== null && url !== former && before) {
    const without = withoutJoinLine(before, former)
    if (without?.content !== before.content) wanted = without
  }
  if (wanted === undefined || (there && isSameBody(wanted, before))) return {}
  if (!there && wanted === null) return {}
  if (url !== null && body) wanted = withJoinLine(body, url)
  const joinUrl = there?.event.onlineMeeting?.joinUrl ?? null
  if (joinUrl !== null) wanted = withMeeting(wanted, before, joinUrl)
  return { body: wanted ?? { contentType: 'text', content: '' } }
}

const isSameBody = (one: RemoteEvent['body'], other: RemoteEvent['body']): boolean =>
  one?.contentType === other?.contentType && one?.content === other?.content
