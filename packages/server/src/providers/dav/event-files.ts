import { zoneOfTzid } from '../../kit/zones/zone-of-tzid.ts'
import type { CalendarWindow, RemoteItem } from '../calendars.ts'
import { UnreadableEvents } from './events/event-file.ts'
import { readEvents } from './events/read-events.ts'
import { type FileKind, fileVersion } from './files.ts'
import { CAL } from './names.ts'

/** The files of a calendar. A file of tasks or notes is nothing that is followed. */
export function eventFiles({
  timeZone: preferred,
  window,
}: {
  timeZone: string | null
  window: CalendarWindow
}): FileKind<RemoteItem> {
  return {
    accept: 'text/calendar, */*;q=0.1',
    multiget: CAL.multiget,
    data: CAL.data,
    read({ path, bytes, etag }) {
      try {
        const read = readEvents(
          bytes,
          (tzid, definition) => zoneOfTzid({ tzid, definition, preferred, window }).zone,
        )
        const identity = { type: 'item', key: path, version: fileVersion({ bytes, etag }) } as const
        return { item: read && { ...identity, ...read, occurrences: null } }
      } catch (error) {
        // A time that no zone has costs the file, and not the calendar.
        if (error instanceof UnreadableEvents || error instanceof RangeError)
          return { unreadable: error.message }
        throw error
      }
    },
  }
}
