import type { CalendarWindow } from '../../../providers/calendars.ts'
import { DAY_MS } from '../../../kit/wall-clock.ts'
import type { ComparedSource } from '../../../sync/looks/compare-listing.ts'
import type { ComparisonStore } from '../../../sync/looks/verify-due.ts'
import {
  postponeCalendar,
  recordCalendarComparison,
  recordCalendarsDiffering,
  scheduleCalendars,
} from '../comparisons/record.ts'
import { digestEvents, findSchedule, loadVersions } from '../comparisons/store.ts'
import type { ListedCalendar } from './calendars.ts'
import { listQuarantinedKeys } from './quarantine.ts'
import { READ_AT_ONCE, recordStep } from './record-step.ts'
import { type Session, underFence } from './session.ts'

/** Items of which one comparison looks at more than the version. */
const READ_MAX = 1_000
/**
 * The index is compared with a shorter listing: at the edges of its window, servers take days and floating times to be
 * elsewhere, and a calendar that is followed within a fixed time may lack what the window has reached since.
 */
const WITHIN_DAYS = { past: 2, ahead: 10 }

/** The comparisons of the calendars of an account. */
export function calendarComparisons(session: Session): ComparisonStore {
  const { db, owned } = session
  return {
    async findDue() {
      const { dueIds, isIncomplete, isStale } = await findSchedule(db, owned.id)
      if (isIncomplete || isStale)
        await underFence(session, async unit => {
          await scheduleCalendars(unit, owned.id)
          await recordCalendarsDiffering(unit, owned.id)
        })
      return dueIds
    },
    postpone: (calendarId, seconds) =>
      underFence(session, unit => postponeCalendar(unit, calendarId, seconds)),
    record: (calendarId, counts) =>
      underFence(session, (unit, account) =>
        recordCalendarComparison(unit, { accountId: account.id, calendarId }, counts),
      ),
  }
}

/** A calendar as it is compared with its listing. */
export function comparedCalendar(
  session: Session,
  listed: ListedCalendar,
  { window, follow }: { window: CalendarWindow; follow: () => Promise<void> },
): ComparedSource {
  const { db, provider, signal, progressed } = session
  const { calendar, remote } = listed
  return {
    async *list() {
      for await (const page of provider.list(remote, withinOf(window), signal)) {
        signal.throwIfAborted()
        yield page
        progressed()
      }
    },
    loadVersions: () => loadVersions(db, calendar.id),
    findExcused: async () => new Set(await listQuarantinedKeys(db, calendar.id)),
    follow,
    findEqual: ({ changed, extra }) =>
      findEqual(session, listed, window, {
        changed: changed.slice(0, READ_MAX),
        extra: extra.slice(0, READ_MAX),
      }),
  }
}

const withinOf = ({ start, end }: CalendarWindow): CalendarWindow => ({
  start: new Date(start.getTime() + WITHIN_DAYS.past * DAY_MS),
  end: new Date(end.getTime() - WITHIN_DAYS.ahead * DAY_MS),
})

/**
 * Reads items with other versions, of which a provider may have changed nothing that is shown, and items that were not
 * listed, which may lie at an edge of the window.
 * @returns the keys of items that are equal, and of those that the provider has all the same; the index has their versions now
 */
async function findEqual(
  session: Session,
  listed: ListedCalendar,
  window: CalendarWindow,
  { changed, extra }: { changed: readonly string[]; extra: readonly string[] },
): Promise<ReadonlySet<string>> {
  const { db, provider, signal } = session
  const { calendar, remote } = listed
  const keys = [...changed, ...extra]
  const equal = new Set<string>()
  for (let at = 0; at < keys.length; at += READ_AT_ONCE) {
    const some = keys.slice(at, at + READ_AT_ONCE)
    const before = await digestEvents(db, calendar.id, some)
    const asked = { calendarKey: remote.key, keys: some, window }
    const { items, unreadable } = await provider.read(asked, signal)
    session.progressed()
    await recordStep(session, listed, window, { items, unreadable, gone: [], isComplete: false })
    const after = await digestEvents(db, calendar.id, some)
    for (const { key } of items) if (before.get(key) === after.get(key)) equal.add(key)
  }
  return equal
}
