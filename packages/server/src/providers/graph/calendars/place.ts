import type { CalendarWindow } from '../../calendars.ts'
import type { AskOptions, GraphRequest } from '../api.ts'
import { type GraphItem, itemSchema } from '../items.ts'
import { isOwnCalendar } from './calendar-list.ts'
import type { CalendarsConnection } from './calendars-connection.ts'
import { EVENT_FIELDS, type EventSurroundings } from './event.ts'
import { pathOfEvent } from './pages.ts'

/** The calendar in which events are read, and the time whose occurrences are wanted. */
export interface ReadingPlace extends EventSurroundings {
  connection: CalendarsConnection
  calendarKey: string
  window: CalendarWindow
  options: AskOptions
}

/** Bodies may be long. */
const EVENT_BYTES_MAX = 8 * 1024 * 1024

export const requestOfEvent = (calendarKey: string, key: string): GraphRequest<GraphItem> => ({
  path: pathOfEvent(calendarKey, key),
  query: { $select: EVENT_FIELDS },
  schema: itemSchema,
  accepts: [200],
  answerBytesMax: EVENT_BYTES_MAX,
})

/** The calendar of a key, after it was found whether it is the account's. */
export async function openPlace(
  connection: CalendarsConnection,
  { calendarKey, window }: { calendarKey: string; window: CalendarWindow },
  options: AskOptions,
): Promise<ReadingPlace> {
  const isOwn = await isOwnCalendar(connection, calendarKey, options)
  return { connection, calendarKey, window, isOwn, mailboxZone: connection.zone?.name ?? null, options }
}
