import type { FollowCalendar, RemoteCalendar } from '../../calendars.ts'
import type { Cursor } from '../../mail.ts'
import type { AskOptions } from '../api.ts'
import { askMark } from '../mark.ts'
import { pathOfCalendar } from './calendar-list.ts'
import type { CalendarsConnection } from './calendars-connection.ts'
import { compareCalendar, compareListed } from './comparing.ts'
import { type CalendarCursor, isOfOtherWindow, readCursor } from './cursor.ts'
import { continueEvents } from './pages.ts'
import { openPlace } from './place.ts'
import { bringChanges, type Pass, type Steps } from './pass.ts'

/** Pages of one round. The next pass goes on from there. */
const PAGES_MAX = 2_000

/**
 * `CalendarsProvider.findChanged`: asks each calendar for its changes, which is the cheapest question that Graph has. The
 * answers are kept until the calendars are followed.
 */
export async function findChanged(
  connection: CalendarsConnection,
  calendars: ReadonlyArray<{ calendar: RemoteCalendar; cursor: Cursor | null }>,
  options: AskOptions,
): Promise<ReadonlySet<string>> {
  connection.pages.clear()
  const changed = new Set<string>()
  for (const { calendar, cursor } of calendars) {
    const from = readCursor(cursor, connection.api.now())
    if (from === null || from.unfound.length > 0 || (await hasNews(connection, calendar.key, from, options)))
      changed.add(calendar.key)
  }
  return changed
}

async function hasNews(
  connection: CalendarsConnection,
  calendarKey: string,
  { link, mark }: CalendarCursor,
  options: AskOptions,
): Promise<boolean> {
  if (link === null)
    return (
      mark === null ||
      (await askMark(connection.api, `${pathOfCalendar(calendarKey)}/events`, options)) !== mark
    )
  return connection.pages.hasNews(link, asked => continueEvents(connection, asked, options))
}

/** `CalendarsProvider.follow`: by the link of the delta, else by a comparison of this calendar. */
export async function* followCalendar(
  connection: CalendarsConnection,
  { calendar, window, cursor, known, signal }: FollowCalendar,
): Steps<void> {
  const options: AskOptions = { urgency: 'late', signal }
  let held: Promise<ReadonlyMap<string, string>> | null = null
  const pass: Pass = {
    ...(await openPlace(connection, { calendarKey: calendar.key, window }, options)),
    known: () => (held ??= known()),
    read: new Set(),
  }
  const read = readCursor(cursor, connection.api.now())
  const from = read && isOfOtherWindow(read, window) ? null : read
  const followed = from?.link ? yield* followLink(pass, from, from.link) : 'expired'
  if (followed === 'more') return
  if (followed === 'expired') return yield* compareCalendar(pass, from)
  yield { type: 'end', cursor: followed }
}

/** @returns the cursor behind the last page; `expired` if Graph no longer knows a link, `more` if there are more pages */
async function* followLink(
  pass: Pass,
  begun: CalendarCursor,
  first: string,
): Steps<CalendarCursor | 'expired' | 'more'> {
  const { connection, options } = pass
  let cursor = begun
  let link = first
  for (let pages = 0; pages < PAGES_MAX; pages += 1) {
    const page = await connection.pages.read(link, asked => continueEvents(connection, asked, options))
    if (page === null) return 'expired'
    const { isDoubtful, late } = yield* bringChanges(pass, page, cursor)
    // An occurrence that was deleted does not name its series. The version of the series shows which it is.
    if (isDoubtful) yield* compareListed(pass)
    cursor = { ...cursor, link: page.link, ...late }
    if (page.isLast) return cursor
    yield { type: 'gone', keys: [], cursor }
    link = page.link
  }
  return 'more'
}
