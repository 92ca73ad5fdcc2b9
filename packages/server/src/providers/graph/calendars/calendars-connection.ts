import type { RemoteCalendar } from '../../calendars.ts'
import type { GraphApi } from '../api.ts'
import type { GraphItem } from '../items.ts'
import { KeptPages } from '../kept-pages.ts'
import type { Subscribing } from '../subscription.ts'

/** State of one connection to the calendars of a mailbox. All of it can be requested again. */
export interface CalendarsConnection {
  api: GraphApi
  /** Ends all requests over this connection. */
  signal: AbortSignal
  subscribing: Subscribing
  /** The calendars when they were last listed, by their keys; null before that. */
  calendars: ReadonlyMap<string, RemoteCalendar> | null
  /** Pages that were read to see whether anything changed, by their links. Following a calendar takes them. */
  pages: KeptPages<GraphItem>
}

export function openCalendarsConnection(
  given: Pick<CalendarsConnection, 'api' | 'signal' | 'subscribing'>,
): CalendarsConnection {
  return { ...given, calendars: null, pages: new KeptPages() }
}
