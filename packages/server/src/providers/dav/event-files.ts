import type { RemoteItem } from '../calendars.ts'
import { UnreadableEvents } from './events/event-file.ts'
import type { EventZones } from './file-thread.ts'
import { type FileKind, fileVersion } from './files.ts'
import { CAL } from './names.ts'

/** The files of a calendar. A file of tasks or notes is nothing that is followed. */
export function eventFiles(zones: EventZones): FileKind<RemoteItem> {
  return {
    accept: 'text/calendar, */*;q=0.1',
    multiget: CAL.multiget,
    data: CAL.data,
    async read({ path, bytes, etag }, { files, home }) {
      try {
        const read = await files.readEvents(home.href, bytes, zones)
        const identity = { type: 'item', key: path, version: fileVersion({ bytes, etag }) } as const
        return { item: read && { ...identity, ...read, occurrences: null } }
      } catch (error) {
        if (error instanceof UnreadableEvents) return { unreadable: error.message }
        throw error
      }
    },
  }
}
