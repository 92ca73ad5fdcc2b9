import type { CalendarsProvider } from '../../calendars.ts'
import type { AskOptions } from '../api.ts'
import { findBusy } from './busy.ts'
import { listCalendars } from './calendar-list.ts'
import type { CalendarsConnection } from './calendars-connection.ts'
import { findChanged, followCalendar } from './following.ts'
import { listVersions } from './pages.ts'
import { openPlace } from './place.ts'
import { readByKeys } from './reading.ts'
import { graphCalendarsWriter } from './writing/writer.ts'

/** The calendars of a mailbox of Microsoft Graph. Following them lets every call of its mail go first. */
export function graphCalendars(connection: CalendarsConnection): CalendarsProvider {
  const late = (signal: AbortSignal): AskOptions => ({ urgency: 'late', signal })
  return {
    writer: graphCalendarsWriter(connection),
    keepNotifying: signal => connection.subscribing.keep(signal),
    findBusy: (...asked) => findBusy(connection, ...asked),
    listCalendars: signal => listCalendars(connection, late(signal)),
    findChanged: (calendars, signal) => findChanged(connection, calendars, late(signal)),
    follow: from => followCalendar(connection, from),
    async *list({ key }, window, signal) {
      for await (const versions of listVersions(connection, key, window, late(signal)))
        yield [...versions].map(([itemKey, version]) => ({ key: itemKey, version }))
    },
    async read({ calendarKey, keys, window }, signal = connection.signal) {
      const place = await openPlace(connection, { calendarKey, window }, late(signal))
      const { items, unreadable } = await readByKeys(place, keys)
      return { items, unreadable }
    },
  }
}
