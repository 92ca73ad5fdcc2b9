import type {
  CalendarsProvider,
  CalendarWindow,
  EventsStep,
  FollowCalendar,
  ListedItem,
  RemoteCalendar,
  RemoteItem,
  UnreadableItem,
} from '../calendars.ts'
import type { CalendarsWriter } from '../changing-calendars.ts'
import type { Offering } from '../connected-account.ts'
import type { Cursor } from '../mail.ts'
import { findBusy } from './busy.ts'
import { findCalendar, findCalendars, findCalendarToRead } from './calendar-collections.ts'
import { DavCalendarsWriter } from './calendar-writing.ts'
import { chooseEvents } from './calendar-selection.ts'
import type { CardDavOptions } from './carddav.ts'
import { DavClient } from './client.ts'
import { requireWithin } from './collections.ts'
import { changedAmong } from './cursor.ts'
import { eventFiles } from './event-files.ts'
import type { FileThread } from './file-thread.ts'
import { type FileSource, readFiles } from './files.ts'
import { followCollection, type FollowedCollection, listVersions } from './following.ts'
import { isMember, urlOf } from './hrefs.ts'
import { askChanges, askEvents, listMembers } from './listing.ts'
import { trustedDomainOf } from './trusted-domain.ts'

/** As for address books, with the home of the user's calendars. */
export type CalDavOptions = CardDavOptions

/** Opens the calendars of an account. Nothing is asked yet, and an idle one holds no connection. */
export function calDavAccount(options: CalDavOptions): Offering<'calendars'> {
  return new CalDavAccount(options)
}

class CalDavAccount implements Offering<'calendars'> {
  readonly calendars: CalendarsProvider
  readonly #client: DavClient

  constructor({ home, login, guard, files, authorities, schemes, signal }: CalDavOptions) {
    const access = { login, schemes, trusted: trustedDomainOf(home) }
    this.#client = new DavClient({ guard, authorities, access, signal })
    this.calendars = new CalDav({ client: this.#client, home, files })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client[Symbol.asyncDispose]()
  }
}

/** A class, since thousands of idle accounts keep one each, and share its methods. */
class CalDav implements CalendarsProvider, FileSource {
  readonly client: DavClient
  readonly home: URL
  readonly files: FileThread
  readonly writer: CalendarsWriter

  constructor({ client, home, files }: FileSource) {
    this.client = client
    this.home = home
    this.files = files
    this.writer = new DavCalendarsWriter({ client, home, files })
  }

  async listCalendars(signal: AbortSignal): Promise<RemoteCalendar[]> {
    return (await findCalendars(this.client, this.home, signal)).map(({ calendar }) => calendar)
  }

  async findChanged(
    calendars: ReadonlyArray<{ calendar: RemoteCalendar; cursor: Cursor | null }>,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    return changedAmong(
      await findCalendars(this.client, this.home, signal),
      calendars.map(({ calendar, cursor }) => ({ key: calendar.key, cursor })),
    )
  }

  findBusy(...asked: Parameters<NonNullable<CalendarsProvider['findBusy']>>) {
    return findBusy(this, ...asked)
  }

  follow({
    calendar,
    window,
    cursor,
    known,
    signal,
  }: FollowCalendar): AsyncGenerator<EventsStep, void, void> {
    return followCollection(this.#collectionOf(calendar, window, signal), { cursor, known })
  }

  list(
    calendar: RemoteCalendar,
    window: CalendarWindow,
    signal: AbortSignal,
  ): AsyncGenerator<readonly ListedItem[], void, void> {
    return listVersions(this.#collectionOf(calendar, window, signal))
  }

  async read(
    { calendarKey, keys, window }: { calendarKey: string; keys: readonly string[]; window: CalendarWindow },
    signal?: AbortSignal,
  ): Promise<{ items: readonly RemoteItem[]; unreadable: readonly UnreadableItem[] }> {
    // Floating times and unknown zones are taken in the zone of the calendar.
    const calendar = await findCalendarToRead(this.client, this.home, calendarKey, signal)
    const { items, unreadable } = await this.#collectionOf(calendar, window, signal).read(keys)
    return { items, unreadable }
  }

  #collectionOf(
    { key: path, timeZone }: Pick<RemoteCalendar, 'key' | 'timeZone'>,
    window: CalendarWindow,
    signal: AbortSignal | undefined,
  ): FollowedCollection<RemoteItem> {
    const asked = { path, url: urlOf(requireWithin(path, this.home), this.home, true) }
    const kind = eventFiles({ timeZone, window })
    const read = (paths: readonly string[]) =>
      readFiles(
        this,
        kind,
        paths.filter(one => isMember(one, path)),
        signal,
      )
    const query = (filter: string) => askEvents(this.client, asked, filter, signal)
    return {
      describe: () => findCalendar(this.client, this.home, path, signal),
      list: () => listMembers(this.client, asked, signal),
      askChanges: token => askChanges(this.client, asked, token, signal),
      read,
      choose: paths => chooseEvents({ query, read }, paths, window),
    }
  }
}
