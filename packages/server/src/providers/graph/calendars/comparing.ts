import type { EventsStep } from '../../calendars.ts'
import { ProviderFailure } from '../../failure.ts'
import type { DeltaPage } from '../delta.ts'
import { LinkExpired } from '../failure.ts'
import type { GraphItem } from '../items.ts'
import { askMark } from '../mark.ts'
import { isUnreadable } from '../unreadable.ts'
import { pathOfCalendar } from './calendar-list.ts'
import { type CalendarCursor, freshCursor } from './cursor.ts'
import { beginEvents, continueEvents, listVersions } from './pages.ts'
import { bringByKeys, bringPage, type Pass, type Steps } from './pass.ts'

/** If a walk expires more often than this before its end, it is given up for now. */
const RESTARTS_MAX = 2
/** Pages of one walk. */
const PAGES_MAX = 10_000

/**
 * Compares a whole calendar with the index: by the first round of its delta, which brings all events of the window and the
 * link to what happens from its beginning on, or by its list if it has no delta. Events that a list lacks are asked for by
 * their keys before they are gone.
 */
export async function* compareCalendar(pass: Pass, from: CalendarCursor | null): Steps<void> {
  const held = await pass.known()
  const walked = yield* walkCalendar(pass, from, held)
  if (walked === 'no delta') {
    // The mark is from before the list: a later change is noticed.
    const mark = await askMark(
      pass.connection.api,
      `${pathOfCalendar(pass.calendarKey)}/events`,
      pass.options,
    )
    yield* compareListed(pass)
    yield { type: 'end', cursor: { ...freshCursor(pass.window, pass.connection.api.now()), mark } }
    return
  }
  const { seen, doubted, cursor } = walked
  yield* bringByKeys(
    pass,
    [...held.keys(), ...doubted].filter(key => !seen.has(key)),
  )
  yield { type: 'end', cursor }
}

interface Walked {
  /** Keys of the single events and the series of which the walk reported anything. */
  seen: ReadonlySet<string>
  /** Keys that were brought, and may have gone before the walk began again. */
  doubted: ReadonlySet<string>
  cursor: CalendarCursor
}

/** Walks through a calendar by the first round of its delta. A walk that was broken off goes on at its link. */
async function* walkCalendar(
  pass: Pass,
  from: CalendarCursor | null,
  held: ReadonlyMap<string, string>,
): Steps<Walked | 'no delta'> {
  const seen = new Set<string>()
  const doubted = new Set<string>()
  let cursor = from?.walk ? { ...from, link: null } : freshCursor(pass.window, pass.connection.api.now())
  let isFromStart = cursor.walk === null
  let restarts = 0
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const page = await readWalk(pass, cursor)
    if (page === 'no delta') return page
    if (page === 'expired') {
      if (++restarts > RESTARTS_MAX)
        throw new LinkExpired('conflict', 'Microsoft Graph does not let the calendar be read to its end.')
      // The link of the new walk does not report events that went before it began.
      for (const key of seen) doubted.add(key)
      seen.clear()
      isFromStart = true
      cursor = freshCursor(pass.window, pass.connection.api.now())
      continue
    }
    const next: CalendarCursor = page.isLast
      ? { ...cursor, walk: null, link: page.link }
      : { ...cursor, walk: page.link }
    const brought = yield* bringPage(pass, page, { held, cursor: next, isStored: !page.isLast })
    for (const key of brought.named) seen.add(key)
    cursor = brought.cursor
    if (page.isLast) {
      if (!isFromStart) for (const key of (await versionsIn(pass)).keys()) seen.add(key)
      return { seen, doubted, cursor }
    }
  }
  throw new LinkExpired('conflict', 'Microsoft Graph gives the events of the calendar no end.')
}

/** Not every calendar need have a delta, and a page may be too large to be read. */
async function readWalk(
  { connection, calendarKey, window, options }: Pass,
  { walk }: CalendarCursor,
): Promise<DeltaPage<GraphItem> | 'expired' | 'no delta'> {
  try {
    if (walk !== null) return await continueEvents(connection, walk, options)
    return await beginEvents(connection, calendarKey, window, options)
  } catch (error) {
    if (error instanceof LinkExpired && walk !== null) return 'expired'
    const isRefused = error instanceof ProviderFailure && error.kind === 'rejected'
    if ((isRefused && walk === null) || isUnreadable(error, options)) return 'no delta'
    throw error
  }
}

/** The versions of everything that the calendar has in the window. */
async function versionsIn({ connection, calendarKey, window, options }: Pass): Promise<Map<string, string>> {
  const all = new Map<string, string>()
  for await (const versions of listVersions(connection, calendarKey, window, options))
    for (const [key, version] of versions) all.set(key, version)
  return all
}

/** Compares a calendar with the index by its list, and brings what differs. */
export async function* compareListed(pass: Pass): AsyncGenerator<EventsStep, void, void> {
  const held = await pass.known()
  const listed = await versionsIn(pass)
  const differing = [...listed].filter(([key, version]) => held.get(key) !== version).map(([key]) => key)
  const lost = [...held.keys()].filter(key => !listed.has(key))
  yield* bringByKeys(pass, [...differing, ...lost])
}
