import { DAY_MS } from '../../kit/wall-clock.ts'
import { findNamedZone } from '../../kit/zones/named-zone.ts'
import type { CalendarWindow, EventsStep, FollowCalendar, ListedItem, RemoteCalendar } from '../calendars.ts'
import { ProviderFailure } from '../failure.ts'
import { unlessExpired } from '../google/unless-expired.ts'
import type { CalendarApi, EventsPage } from './calendar-api.ts'
import { type CalendarCursor, readCursor } from './cursor.ts'
import { EventReader, isHeld, type ReadEvents, requireNamed, versionOf } from './reading.ts'

type Steps<T> = AsyncGenerator<EventsStep, T, void>

/** Pages of one sync. */
const PAGES_MAX = 1_000
/** Events of one step. */
const STEP_MAX = 100
const GONE_MAX = 1_000
/** A window that begins so much earlier than the listing began is a longer one. */
const LONGER_MS = DAY_MS

/** One pass over a calendar. */
interface Pass {
  api: CalendarApi
  calendar: RemoteCalendar
  reader: EventReader
  window: CalendarWindow
  signal: AbortSignal
}

/**
 * The changes of a calendar since a cursor. Google reports members of a series one by one. A token that it does not take any
 * more, and a window that begins earlier, lead to a comparison of this calendar.
 */
export async function* followEvents(
  api: CalendarApi,
  { calendar, window, cursor, known, signal }: FollowCalendar,
): Steps<void> {
  const reader = new EventReader(key => findEvent(api, calendar.key, key, signal))
  const pass = { api, calendar, reader, window, signal }
  const read = readCursor(cursor)
  const from = read && read.timeMin - window.start.getTime() < LONGER_MS ? read : null
  if (from?.syncToken && (yield* followToken(pass, from, from.syncToken))) return
  if (from?.pageToken && (yield* readFirst(pass, from))) return
  const held = await known()
  if (held.size > 0) return yield* compare(pass, held)
  const begun = { timeMin: window.start.getTime(), syncToken: null, pageToken: null }
  if (yield* readFirst(pass, begun)) return
  throw new ProviderFailure('unavailable', 'Google Calendar does not take the page that it named.')
}

/** Keys and versions of the events of a calendar that end after the start of the window. */
export async function* listVersions(
  api: CalendarApi,
  calendarKey: string,
  timeMin: number | null,
  signal: AbortSignal,
): AsyncGenerator<readonly ListedItem[], void, void> {
  const ask = (pageToken: string | null) => api.listVersions(calendarKey, { timeMin, pageToken }, signal)
  for await (const { items } of pagesOf(ask)) {
    const held = items.map(requireNamed).filter(isHeld)
    yield held.map(named => ({ key: named.id, version: versionOf(named) }))
  }
}

/** An event as it is answered; null if there is none of this key. */
export async function findEvent(
  api: CalendarApi,
  calendarKey: string,
  key: string,
  signal?: AbortSignal,
): Promise<unknown> {
  try {
    return await api.getEvent(calendarKey, key, { signal })
  } catch (error) {
    if (error instanceof ProviderFailure && error.kind === 'not_found') return null
    throw error
  }
}

/** Returns false if the token is not taken. */
async function* followToken(pass: Pass, from: CalendarCursor, syncToken: string): Steps<boolean> {
  const { api, calendar, signal } = pass
  const ask = (pageToken: string | null) =>
    api.sync(calendar.key, { syncToken, pageToken, timeMin: null }, 'prompt', signal)
  let next = syncToken
  // A token can expire in the midst of its pages.
  for await (const page of pagesOf(pageToken => unlessExpired(true, () => ask(pageToken)))) {
    if (page === null) return false
    yield* stepsOf(await readPage(pass, page))
    next = page.nextSyncToken ?? next
  }
  yield { type: 'end', cursor: { ...from, syncToken: next, pageToken: null } }
  return true
}

/** Reads everything for the first time, page by page. Returns false if the page of the cursor is not taken any more. */
async function* readFirst(pass: Pass, { timeMin, pageToken: begun }: CalendarCursor): Steps<boolean> {
  const { api, calendar, signal } = pass
  const ask = (pageToken: string | null) =>
    unlessExpired(pageToken !== null, () =>
      api.sync(calendar.key, { syncToken: null, pageToken, timeMin }, 'background', signal),
    )
  let end: CalendarCursor | null = null
  for await (const page of pagesOf(ask, begun)) {
    if (page === null) return false
    const { nextPageToken = null } = page
    const cursor = nextPageToken === null ? undefined : { timeMin, syncToken: null, pageToken: nextPageToken }
    yield* stepsOf(await readPage(pass, page), cursor)
    end = endOf(page, timeMin)
  }
  yield { type: 'end', cursor: end }
  return true
}

/**
 * Compares all versions with those of the index. A key that the listing lacks may be that of an event before the window, or of
 * one that was changed while it was listed, so all keys are listed before it counts as gone. An event that has another version
 * there has moved to before the window, and is read by its key.
 */
async function* compare(pass: Pass, known: ReadonlyMap<string, string>): Steps<void> {
  const { api, calendar, window, signal } = pass
  const timeMin = window.start.getTime()
  const ask = (pageToken: string | null) =>
    api.sync(calendar.key, { syncToken: null, pageToken, timeMin }, 'background', signal)
  const isNews = ({ key, version }: { key: string; version: string | null }) => known.get(key) !== version
  const unlisted = new Set(known.keys())
  let end: CalendarCursor | null = null
  let around = aroundOf(pass, null)
  for await (const page of pagesOf(ask)) {
    around = aroundOf(pass, page)
    for (const named of page.items.map(requireNamed)) if (isHeld(named)) unlisted.delete(named.id)
    const { objects, unreadable } = await readPage(pass, page)
    yield* stepsOf({ objects: objects.filter(isNews), unreadable: unreadable.filter(isNews), gone: [] })
    end = endOf(page, timeMin)
  }
  const moved: string[] = []
  if (unlisted.size > 0)
    for await (const page of listVersions(api, calendar.key, null, signal))
      for (const { key, version } of page)
        if (unlisted.delete(key) && version !== known.get(key)) moved.push(key)
  for (let at = 0; at < moved.length; at += STEP_MAX) {
    const answered: unknown[] = []
    for (const key of moved.slice(at, at + STEP_MAX)) {
      const found = await findEvent(api, calendar.key, key, signal)
      if (found === null) unlisted.add(key)
      else answered.push(found)
    }
    yield* stepsOf(await pass.reader.read(answered, around))
  }
  yield* stepsOf({ objects: [], unreadable: [], gone: [...unlisted] })
  yield { type: 'end', cursor: end }
}

/** The pages of a listing, up to the last one or one that is null. */
export async function* pagesOf<Page extends { nextPageToken?: string | undefined } | null>(
  ask: (pageToken: string | null) => Promise<Page>,
  from: string | null = null,
): AsyncGenerator<Page, void, void> {
  let pageToken = from
  for (let count = 0; count < PAGES_MAX; count += 1) {
    const page: Page = await ask(pageToken)
    yield page
    if (page?.nextPageToken === undefined) return
    pageToken = page.nextPageToken
  }
  throw new ProviderFailure('unavailable', `Google Calendar lists more than ${PAGES_MAX} pages.`)
}

function readPage(pass: Pass, page: EventsPage): Promise<ReadEvents> {
  return pass.reader.read(page.items, aroundOf(pass, page))
}

/** The surroundings of the events of a page, on which their fields depend. */
function aroundOf({ calendar: { access, timeZone } }: Pass, page: EventsPage | null) {
  return {
    access,
    timeZone: findNamedZone(page?.timeZone ?? '') ?? timeZone,
    defaultReminders: page?.defaultReminders ?? [],
  }
}

/** @param cursor the cursor after the last of these steps; without one, following begins again at the former cursor */
function* stepsOf(
  { objects, unreadable, gone }: ReadEvents,
  cursor?: CalendarCursor,
): Generator<EventsStep, void, void> {
  for (let at = 0; at < gone.length; at += GONE_MAX)
    yield { type: 'gone', keys: gone.slice(at, at + GONE_MAX) }
  if (objects.length + unreadable.length === 0 && !cursor) return
  const count = Math.max(1, Math.ceil(objects.length / STEP_MAX))
  for (let nth = 0; nth < count; nth += 1) {
    const isLast = nth === count - 1
    yield {
      type: 'items',
      items: objects.slice(nth * STEP_MAX, (nth + 1) * STEP_MAX),
      unreadable: isLast ? unreadable : [],
      // Google does not count events.
      remaining: null,
      ...(isLast && cursor && { cursor }),
    }
  }
}

/** Without a token nothing leads on, so the next pass compares everything. */
function endOf({ nextSyncToken }: EventsPage, timeMin: number): CalendarCursor | null {
  return nextSyncToken === undefined ? null : { timeMin, syncToken: nextSyncToken, pageToken: null }
}
