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
  /** Called for each event that is read whose zone has no known name. */
  onCustomZone(): void
  /** The calendars when they were last listed, by their keys; null before that. */
  calendars: ReadonlyMap<string, RemoteCalendar> | null
  /** The IANA name of the zone of the mailbox, and when it was asked for; null before that. */
  zone: { name: string | null; askedAt: number } | null
  /** Pages that were read to see whether anything changed, by their links. Following a calendar takes them. */
  pages: KeptPages<GraphItem>
}

export function openCalendarsConnection(
  given: Pick<CalendarsConnection, 'api' | 'signal' | 'subscribing' | 'onCustomZone'>,
): CalendarsConnection {
  return { ...given, calendars: null, zone: null, pages: new KeptPages() }
}
