import type { Shape } from '../../google/api/shape.ts'
import type { Caller } from '../../google/caller.ts'
import type { CalendarParts } from '../parts.ts'
import { type Calendar, type CalendarList, isAtLeast, type Role, roleIn } from '../store/calendars.ts'
import { isZone } from '../../calendaring/moments.ts'
import { invalid, notFound, writesForbidden } from './refusals.ts'

/** One method of the Calendar API, as the discovery document describes it. */
export interface CalendarMethod {
  /** Without `calendar.`, such as `events.list`. */
  id: string
  http: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below /calendar/v3/. */
  path: string
  /** Any one of them is enough. */
  scopes: readonly string[]
  /** Parameters of the query. */
  query?: readonly string[]
  /** Fields of the body; without it the body is ignored. */
  body?: Shape
  /** Fields of the answer; a method without them answers 204. */
  answer?: Shape
  run(call: MethodCall): object | undefined
}

/** Parameters of a call that was let in. */
export interface MethodCall {
  parts: CalendarParts
  caller: Caller
  /** The calendars of the caller. */
  list: CalendarList
  /** Parts of the path, such as `calendarId`. */
  params: Record<string, string>
  query: URLSearchParams
  /** The JSON body, with no field but those of the method. */
  body: Record<string, unknown>
  headers: Headers
  url: URL
}

/** Scopes by the ends of their names. */
export const scopes = (names: string): string[] =>
  names.split(' ').map(name => `https://www.googleapis.com/auth/calendar${name === '*' ? '' : `.${name}`}`)

/** The calendar of the path, and the caller's role in it, which is at least the one that is needed. */
export function requireCalendar(
  { parts: { store }, list, params }: MethodCall,
  least: Role,
  id = params['calendarId'] ?? '',
): { calendar: Calendar; role: Role } {
  const calendar = store.calendars.get(id === 'primary' ? list.email : id.toLowerCase())
  const role = calendar ? roleIn(store, calendar, list.email) : null
  if (!calendar || !role) throw notFound()
  if (!isAtLeast(role, least)) throw writesForbidden()
  return { calendar, role }
}

/** The zone in which an answer shows times. */
export function zoneIn(query: URLSearchParams, calendar: Calendar): string {
  const zone = query.get('timeZone') ?? calendar.fields.timeZone
  if (!isZone(zone)) throw invalid('Invalid time zone definition.')
  return zone
}
