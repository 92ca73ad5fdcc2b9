import type { CalendarWindow, RemoteItem } from '../calendars.ts'
import type { WriteOptions } from '../changing-calendars.ts'
import { ProviderFailure } from '../failure.ts'
import { findCalendarToRead } from './calendar-collections.ts'
import { requireWithin } from './collections.ts'
import { eventFiles } from './event-files.ts'
import type { EditOptions } from './events/edit-events.ts'
import type { EventEdit } from './events/event-edit.ts'
import { UnreadableEvents } from './events/event-file.ts'
import { MissingMember, UnheldChange, UnwritableEvents } from './events/unwritable.ts'
import type { DavFile, FileSource } from './files.ts'

/* The files of events as they are written and read again. */

/** A calendar that is written to. */
export interface OpenCalendar {
  path: string
  timeZone: string | null
}

export const EVENT_TYPE = {
  type: 'text/calendar; charset=utf-8',
  accept: 'text/calendar, */*;q=0.1',
} as const

/** A calendar of the home that can be read. */
export async function openCalendar({ client, home }: FileSource, calendarKey: string): Promise<OpenCalendar> {
  const path = requireWithin(calendarKey, home)
  const { timeZone } = await findCalendarToRead(client, home, path)
  return { path, timeZone }
}

/** @returns null if nothing of the event is left */
export async function editFile(
  { files, home }: FileSource,
  { timeZone }: OpenCalendar,
  {
    bytes,
    edit,
    options,
    agent,
  }: {
    bytes: Buffer
    edit: EventEdit
    options: WriteOptions
    agent: EditOptions['agent']
  },
): Promise<Buffer | null> {
  const { self, own, window } = options
  const edited = { edit, options: { self, own, agent, now: new Date() }, zones: { timeZone, window } }
  try {
    return await files.editEvents(home.href, bytes, edited)
  } catch (error) {
    if (error instanceof UnheldChange)
      throw new ProviderFailure('unsupported', error.message, { cause: error })
    if (error instanceof MissingMember)
      throw new ProviderFailure('not_found', error.message, { cause: error })
    if (error instanceof UnreadableEvents || error instanceof UnwritableEvents)
      throw new ProviderFailure('rejected', `The event cannot be written: ${error.message}.`, {
        cause: error,
      })
    throw error
  }
}

/** A file as an item; null if it is none that can be read. */
export async function readItem(
  source: FileSource,
  { timeZone }: OpenCalendar,
  file: DavFile,
  window: CalendarWindow = { start: new Date(), end: new Date() },
): Promise<RemoteItem | null> {
  const read = await eventFiles({ timeZone, window }).read(file, source)
  return 'item' in read ? read.item : null
}
