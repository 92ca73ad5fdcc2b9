import { html } from '../../../kit/html.ts'
import type { RemoteEvent } from '../../calendars.ts'
import type { EventChange } from '../../changing-calendars.ts'
import { ProviderFailure } from '../../failure.ts'
import { withJoinLine, withoutJoinLine } from '../../join-line.ts'
import { MEET } from '../calendar-entry.ts'
import { bodyOf } from '../event-fields.ts'
import { MEETING_PROPERTY } from '../event-schema.ts'
import { type HeldEvent, type Json, objectAt } from './held-event.ts'

/** Characters that the value of a property of an event may have (developers.google.com/workspace/calendar/api/guides/extended-properties). */
const PROPERTY_LENGTH_MAX = 1_024

type MeetingChange = Pick<EventChange, 'location' | 'body' | 'onlineMeeting' | 'onlineMeetingUrl'>

/**
 * Location, description and meetings as they are written. The link to a meeting at another service becomes the location if
 * there is none, stands in a body that is written, and is remembered in a property that only the account's own copy has.
 * @param requestId of a meeting that Google is to make: a repeated one makes none twice
 */
export function meetingPatch(before: HeldEvent | null, change: MeetingChange, requestId: string): Json {
  const remembered = rememberedUrl(before)
  const { onlineMeetingUrl } = change
  const isReplaced = onlineMeetingUrl !== undefined || change.onlineMeeting === true
  const url = isReplaced ? (onlineMeetingUrl ?? null) : remembered
  if ((url?.length ?? 0) > PROPERTY_LENGTH_MAX)
    throw new ProviderFailure(
      'unsupported',
      `Google Calendar keeps links of at most ${PROPERTY_LENGTH_MAX} characters.`,
    )
  const description = descriptionOf(before, change, { remembered, url, isReplaced })
  const location = locationOf(before, change, { remembered, url, isReplaced })
  return {
    ...(description !== undefined && { description }),
    ...(location !== undefined && { location }),
    ...(url !== remembered && { extendedProperties: { private: { [MEETING_PROPERTY]: url } } }),
    ...conferencePatch(before, change.onlineMeeting, requestId),
  }
}

interface Link {
  remembered: string | null
  url: string | null
  /** Whether the change is about the link. */
  isReplaced: boolean
}

function rememberedUrl(before: HeldEvent | null): string | null {
  const url = before?.event.extendedProperties?.private[MEETING_PROPERTY]
  return typeof url === 'string' && url !== '' ? url : null
}

function locationOf(
  before: HeldEvent | null,
  { location }: MeetingChange,
  { remembered, url, isReplaced }: Link,
): string | null | undefined {
  if (!isReplaced) return location
  const held = before?.event.location || null
  const kept = location !== undefined ? location : held === remembered ? null : held
  const next = kept ?? url
  return location !== undefined || next !== held ? next : undefined
}

function descriptionOf(
  before: HeldEvent | null,
  { body }: MeetingChange,
  { remembered, url, isReplaced }: Link,
): string | null | undefined {
  if (body !== undefined) return body && printBody(url === null ? body : withJoinLine(body, url))
  const held = bodyOf(before?.event.description ?? '')
  if (!isReplaced || held === null || remembered === null || url === remembered) return undefined
  const left = withoutJoinLine(held, remembered)
  if (left?.content === held.content) return undefined
  const next = left && url !== null ? withJoinLine(left, url) : left
  return next && printBody(next)
}

/** Descriptions are HTML, and one without a tag reads as text. */
function printBody({ contentType, content }: NonNullable<RemoteEvent['body']>): string {
  return contentType === 'html' ? content : String(html`${content}`)
}

function conferencePatch(
  before: HeldEvent | null,
  onlineMeeting: boolean | undefined,
  requestId: string,
): Json {
  const held = before ? objectAt(before.raw, 'conferenceData') : {}
  const hasAny = Object.keys(held).length > 0
  if (onlineMeeting === false) return hasAny ? { conferenceData: null } : {}
  if (onlineMeeting === undefined || isMeet(held)) return {}
  const createRequest = { requestId, conferenceSolutionKey: { type: MEET } }
  return { conferenceData: { createRequest } }
}

/** Whether a conference is one of Meet, or will be. */
function isMeet(conference: Json): boolean {
  const solution = objectAt(objectAt(conference, 'conferenceSolution'), 'key')['type']
  return solution === MEET || isPending(conference)
}

/** Whether the conference of an event is still being made. */
export const isMeetingPending = (raw: Json): boolean => isPending(objectAt(raw, 'conferenceData'))

const isPending = (conference: Json): boolean =>
  objectAt(objectAt(conference, 'createRequest'), 'status')['statusCode'] === 'pending'
