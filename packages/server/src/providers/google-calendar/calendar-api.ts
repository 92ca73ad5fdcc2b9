import { z } from 'zod'
import { ProviderFailure } from '../failure.ts'
import type { Urgency } from '../google/governor.ts'
import { GoogleApi, type GoogleApiOptions } from '../google/google-api.ts'
import { HOSTS } from '../google/hosts.ts'
import { type Query, writeQuery } from '../google/query.ts'
import { readAnswer } from '../http/answers.ts'

export interface CalendarRequest<T> {
  /** GET by default. */
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below `/calendar/v3/`. */
  path: string
  query?: Query
  json?: object
  /** The entity tag that the object must have, or else the answer is 412. */
  ifMatch?: string | null
  schema: z.ZodType<T>
  /** `background` by default. */
  urgency?: Urgency | undefined
  signal?: AbortSignal | undefined
}

/** Calendars of one page of the list, at most. */
const PAGE_CALENDARS = 250
/** Events of one page. Google takes up to 2,500, but one may have hundreds of attendees. */
const PAGE_EVENTS = 250
/** Events of one page of which only names and versions are asked for. */
const PAGE_VERSIONS = 2_500
/** Bytes of one answer: an event has a few kilobytes. */
const ANSWER_BYTES_MAX = 32 * 1024 * 1024

const entries = z.object({
  items: z.array(z.unknown()).max(PAGE_CALENDARS).default([]),
  nextPageToken: z.string().optional(),
})

export const eventsPageSchema = z.object({
  items: z.array(z.unknown()).max(PAGE_VERSIONS).default([]),
  nextPageToken: z.string().optional(),
  nextSyncToken: z.string().optional(),
  timeZone: z.string().nullish(),
  defaultReminders: z.array(z.unknown()).default([]),
})

/** A page of calendars, each still to be read. */
export type EntriesPage = z.infer<typeof entries>
/** A page of events, each still to be read. Only the last page has a token for the next sync. */
export type EventsPage = z.infer<typeof eventsPageSchema>

/** The place of a page in a sync of one calendar. */
export interface SyncPlace {
  syncToken: string | null
  pageToken: string | null
  /** Events that end before it are not listed, in milliseconds since 1970. It does not go together with a sync token. */
  timeMin: number | null
}

/** Units of the quota that one patch costs (developers.google.com/workspace/calendar/api/v3/reference/events/patch). */
const PATCH_UNITS = 3

/** The Calendar API as one user (developers.google.com/workspace/calendar/api/v3/reference). */
export class CalendarApi extends GoogleApi {
  constructor(options: GoogleApiOptions) {
    super('Google Calendar', options)
  }

  /** A page of the calendars in the user's list, hidden ones too. */
  listEntries(pageToken: string | null, signal: AbortSignal): Promise<EntriesPage> {
    return this.ask({
      path: 'users/me/calendarList',
      query: {
        maxResults: PAGE_CALENDARS,
        showHidden: true,
        ...(pageToken !== null && { pageToken }),
      },
      schema: entries,
      urgency: 'prompt',
      signal,
    })
  }

  /** One calendar of the user's list. */
  getEntry(calendarKey: string, signal?: AbortSignal): Promise<unknown> {
    return this.ask({
      path: `users/me/calendarList/${segment(calendarKey)}`,
      schema: z.unknown(),
      urgency: 'prompt',
      signal,
    })
  }

  /**
   * A page of a sync: singles, series and exceptions. All parameters but the tokens are those of the first call, since
   * Google leaves open what it does with others. Deleted events are not asked for: after a sync token they are listed
   * anyway, as are the cancelled members of a series always.
   */
  sync(calendarKey: string, place: SyncPlace, urgency: Urgency, signal: AbortSignal): Promise<EventsPage> {
    return this.#askSync(calendarKey, place, urgency, signal)
  }

  /** Whether a sync would list anything. */
  async hasChanged(
    calendarKey: string,
    syncToken: string,
    urgency: Urgency,
    signal: AbortSignal,
  ): Promise<boolean> {
    const place = { syncToken, pageToken: null, timeMin: null }
    const fields = 'items(id),nextPageToken'
    const page = await this.#askSync(calendarKey, place, urgency, signal, { fields })
    return page.items.length > 0 || page.nextPageToken !== undefined
  }

  /** A page of all events with their names and versions alone. */
  listVersions(
    calendarKey: string,
    { timeMin, pageToken }: Pick<SyncPlace, 'timeMin' | 'pageToken'>,
    signal: AbortSignal,
  ): Promise<EventsPage> {
    return this.ask({
      path: eventsPath(calendarKey),
      query: {
        maxResults: PAGE_VERSIONS,
        fields: 'items(id,etag,status,recurringEventId),nextPageToken',
        ...(timeMin !== null && { timeMin: new Date(timeMin).toISOString() }),
        ...(pageToken !== null && { pageToken }),
      },
      schema: eventsPageSchema,
      signal,
    })
  }

  getEvent(
    calendarKey: string,
    eventKey: string,
    asking: Partial<Pick<CalendarRequest<unknown>, 'urgency' | 'signal'>> = {},
  ): Promise<unknown> {
    return this.ask({
      path: `${eventsPath(calendarKey)}/${segment(eventKey)}`,
      schema: z.unknown(),
      urgency: asking.urgency,
      signal: asking.signal,
    })
  }

  #askSync(
    calendarKey: string,
    { syncToken, pageToken, timeMin }: SyncPlace,
    urgency: Urgency,
    signal: AbortSignal,
    more: Query = {},
  ): Promise<EventsPage> {
    return this.ask({
      path: eventsPath(calendarKey),
      query: {
        singleEvents: false,
        maxResults: PAGE_EVENTS,
        ...(syncToken !== null && { syncToken }),
        ...(pageToken !== null && { pageToken }),
        ...(timeMin !== null && { timeMin: new Date(timeMin).toISOString() }),
        ...more,
      },
      schema: eventsPageSchema,
      urgency,
      signal,
    })
  }

  /** Calls a method of the API. */
  async ask<T>({
    method = 'GET',
    path,
    query = {},
    json,
    ifMatch,
    ...asking
  }: CalendarRequest<T>): Promise<T> {
    const parameters = writeQuery(query)
    const call = {
      host: HOSTS.calendar,
      method,
      path: `/calendar/v3/${path}${parameters && `?${parameters}`}`,
      signal: asking.signal,
      answerBytesMax: ANSWER_BYTES_MAX,
      headers: {
        ...(json && { 'content-type': 'application/json; charset=utf-8' }),
        ...(ifMatch && { 'if-match': ifMatch }),
      },
      ...(json && { body: JSON.stringify(json) }),
    } as const
    const { content } = await this.call(
      call,
      method === 'PATCH' ? PATCH_UNITS : 1,
      asking.urgency ?? 'background',
    )
    return readAnswer(this.api, asking.schema, content)
  }
}

export const eventsPath = (calendarKey: string): string => `calendars/${segment(calendarKey)}/events`

/** A key as a segment of a path. An empty one, or one of dots alone, would name another path. */
export function segment(key: string): string {
  if (!/^\.{0,2}$/.test(key)) return encodeURIComponent(key)
  throw new ProviderFailure('not_found', 'Google Calendar has nothing under this key.')
}
