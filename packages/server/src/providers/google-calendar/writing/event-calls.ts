import { z } from 'zod'
import { ProviderFailure } from '../../failure.ts'
import { RequestRefused } from '../../google/failure.ts'
import { type CalendarApi, eventsPath, type EventsPage, eventsPageSchema, segment } from '../calendar-api.ts'
import { eventGone, type Json } from './held-event.ts'

/** An event of a calendar. */
export interface EventPlace {
  calendarKey: string
  key: string
}

const PROMPT = 'prompt'
const pathOf = ({ calendarKey, key }: EventPlace) => `${eventsPath(calendarKey)}/${segment(key)}`

/** Conferences and attachments are left alone only by clients that say that they know of them. */
const WHOLE = { conferenceDataVersion: 1, supportsAttachments: true }
const toldQuery = (notify: boolean) => ({ sendUpdates: notify ? 'all' : 'none' })

/** An event as it is answered. Throws `not_found`. */
export function askEvent(api: CalendarApi, { calendarKey, key }: EventPlace): Promise<unknown> {
  return api.getEvent(calendarKey, key, { urgency: PROMPT })
}

/** @returns the event, or null if the calendar has one of this id already, also a deleted one */
export async function insertEvent(
  api: CalendarApi,
  calendarKey: string,
  event: Json,
  notify: boolean,
): Promise<unknown> {
  try {
    return await api.ask({
      method: 'POST',
      path: eventsPath(calendarKey),
      query: { ...WHOLE, ...toldQuery(notify) },
      json: event,
      schema: z.unknown(),
      urgency: PROMPT,
    })
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'conflict') return null
    throw error
  }
}

/** Throws a failure for which `isOvertaken` holds if the event has another entity tag. */
export function patchEvent(
  api: CalendarApi,
  place: EventPlace,
  patch: Json,
  { notify, ifMatch }: { notify: boolean; ifMatch: string | null },
): Promise<unknown> {
  return api.ask({
    method: 'PATCH',
    path: pathOf(place),
    query: { ...WHOLE, ...toldQuery(notify) },
    json: patch,
    ifMatch,
    schema: z.unknown(),
    urgency: PROMPT,
  })
}

/** Writes an event whole, also one that was cancelled. */
export function putEvent(
  api: CalendarApi,
  place: EventPlace,
  event: Json,
  notify: boolean,
): Promise<unknown> {
  return api.ask({
    method: 'PUT',
    path: pathOf(place),
    query: { ...WHOLE, ...toldQuery(notify) },
    json: event,
    schema: z.unknown(),
    urgency: PROMPT,
  })
}

export const isOvertaken = (error: unknown): boolean =>
  error instanceof RequestRefused && error.reasons.includes('conditionNotMet')

/** Throws `not_found` if the event was deleted before. */
export async function deleteEvent(api: CalendarApi, place: EventPlace, notify: boolean): Promise<void> {
  try {
    await api.ask({
      method: 'DELETE',
      path: pathOf(place),
      query: toldQuery(notify),
      schema: z.unknown(),
      urgency: PROMPT,
    })
  } catch (error) {
    if (error instanceof RequestRefused && error.reasons.includes('deleted')) throw eventGone()
    throw error
  }
}

export function moveEvent(
  api: CalendarApi,
  place: EventPlace,
  destination: string,
  notify: boolean,
): Promise<unknown> {
  return api.ask({
    method: 'POST',
    path: `${pathOf(place)}/move`,
    query: { destination, ...toldQuery(notify) },
    schema: z.unknown(),
    urgency: PROMPT,
  })
}

/** The members of a series that its rule starts at a time, as `originalStartTime` has it. */
export function listInstances(
  api: CalendarApi,
  place: EventPlace,
  originalStart: string,
): Promise<EventsPage> {
  return api.ask({
    path: `${pathOf(place)}/instances`,
    query: { originalStart },
    schema: eventsPageSchema,
    urgency: PROMPT,
  })
}

/** A page of the events of one UID: a series with its exceptions and cancelled members. */
export function listByUid(
  api: CalendarApi,
  calendarKey: string,
  iCalUID: string,
  pageToken: string | null,
): Promise<EventsPage> {
  return api.ask({
    path: eventsPath(calendarKey),
    query: { iCalUID, singleEvents: false, maxResults: 2_500, ...(pageToken !== null && { pageToken }) },
    schema: eventsPageSchema,
    urgency: PROMPT,
  })
}
