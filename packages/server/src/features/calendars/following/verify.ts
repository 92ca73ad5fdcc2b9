import { DAY_MS } from '../../../kit/wall-clock.ts'
import type { CalendarWindow } from '../../../providers/calendars.ts'
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
import { MARKS_MAX } from '../../../sync/looks/marked.ts'
import { listMarks } from '../marks/record-marks.ts'
import { listQuarantinedKeys } from './quarantine.ts'
import { NOTHING_READ, READ_AT_ONCE, recordStep } from './record-step.ts'
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
  const { db, owned, provider, signal, progressed } = session
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
    async findExcused() {
      const marked = (await listMarks(db, owned.id, MARKS_MAX)).filter(
        mark => mark.calendarId === calendar.id,
      )
      return new Set([...(await listQuarantinedKeys(db, calendar.id)), ...marked.map(({ key }) => key)])
    },
    follow,
    async findEqual({ missing, changed, extra }) {
      const held = [...changed.slice(0, READ_MAX), ...extra.slice(0, READ_MAX)]
      const [equal, over] = [
        await findEqual(session, listed, window, held),
        await findOver(session, listed, window, missing),
      ]
      return new Set([...equal, ...over])
    },
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
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  const { db, provider, signal } = session
  const { calendar, remote } = listed
  const equal = new Set<string>()
  for (let at = 0; at < keys.length; at += READ_AT_ONCE) {
    const some = keys.slice(at, at + READ_AT_ONCE)
    const before = await digestEvents(db, calendar.id, some)
    const asked = { calendarKey: remote.key, keys: some, window }
    const { items, unreadable } = await provider.read(asked, signal)
    session.progressed()
    await recordStep(session, listed, window, { ...NOTHING_READ, items, unreadable })
    const after = await digestEvents(db, calendar.id, some)
    for (const { key } of items) if (before.get(key) === after.get(key)) equal.add(key)
  }
  return equal
}

/**
 * Reads items that were listed and that the index lacks, and records them. Some servers list old events as well, which the
 * index does not take.
 * @returns the keys of these; all keys if nothing else was among those that were read
 */
async function findOver(
  session: Session,
  listed: ListedCalendar,
  window: CalendarWindow,
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  const { db, provider, signal } = session
  const { calendar, remote } = listed
  const over = new Set<string>()
  const sample = keys.slice(0, READ_MAX)
  for (let at = 0; at < sample.length; at += READ_AT_ONCE) {
    const some = sample.slice(at, at + READ_AT_ONCE)
    const { items, unreadable } = await provider.read({ calendarKey: remote.key, keys: some, window }, signal)
    session.progressed()
    await recordStep(session, listed, window, { ...NOTHING_READ, items, unreadable })
    const taken = await digestEvents(db, calendar.id, some)
    for (const { type, key } of items) if (type === 'item' && !taken.has(key)) over.add(key)
  }
  return over.size === sample.length ? new Set(keys) : over
}
