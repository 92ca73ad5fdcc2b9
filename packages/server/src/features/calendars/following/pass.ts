import type { CalendarWindow } from '../../../providers/calendars.ts'
import { Failures } from '../../../sync/looks/failures.ts'
import { completeFirstSync } from '../../../sync/looks/first-sync.ts'
import {
  followChanged,
  neverPause,
  type PassOptions,
  type Reading,
} from '../../../sync/looks/follow-changed.ts'
import { settleMissing } from '../../../sync/looks/settle-missing.ts'
import { verifyDue } from '../../../sync/looks/verify-due.ts'
import { countContents } from '../calendars/store.ts'
import { hasMissing, recordLost } from '../events/missing.ts'
import { countItems, loadKnownVersions } from '../events/store.ts'
import { keptWindow } from '../events/window.ts'
import { type ListedCalendar, lookAtCalendars } from './calendars.ts'
import { finishIntents } from './finish-intents.ts'
import { listMarked, lookAtMarked, retryQuarantined } from './look-again.ts'
import { READER_VERSION } from './quarantine.ts'
import { NOTHING_READ, recordStep } from './record-step.ts'
import { fenceOf, type Session, underFence } from './session.ts'
import { calendarComparisons, comparedCalendar } from './verify.ts'

/** Time that a provider may take before the first step of a calendar. */
const LISTING_SECONDS_MAX = 600
/** Keys that are gone and are recorded in one transaction. */
const GONE_AT_ONCE = 500

/**
 * Makes one pass over the calendars of an account: finishes writes that were left, records the calendars themselves, follows
 * those that changed, asks about events that the interface changed, reads events again that could not be read, deletes those
 * that are in no calendar any more, and compares calendars that are due with their provider.
 * @returns whether events are still to come
 */
export async function runPass(session: Session, options: PassOptions): Promise<{ hasMore: boolean }> {
  const failures = new Failures()
  const window = keptWindow(session.days, Date.now())
  await finishIntents(session, window)
  const marked = await listMarked(session)
  const listed = await lookAtCalendars(session, window)
  const following = { window, failures, options, mayDefer: !session.isAsked }
  const followed = await followListed(session, listed, following)
  if (followed === 'more') return { hasMore: true }
  await lookAtMarked(session, listed, { marked, window, failures })
  await retryQuarantined(session, listed, { window, failures })
  // An event may have moved to a calendar that was listed and that could not be found.
  const isSettled = failures.hasLost || (await deleteMissing(session, listed, following))
  if (!isSettled) return { hasMore: true }
  if (!session.isInitialized) await announceFirstSync(session)
  const hasMore = await verifyCalendars(session, listed, following)
  failures.rethrow()
  return { hasMore }
}

/** @returns whether another pass may heal a difference that was found */
function verifyCalendars(
  session: Session,
  listed: readonly ListedCalendar[],
  { window, failures, options }: Following,
): Promise<boolean> {
  const follow = async (each: ListedCalendar) =>
    void (await followCalendar(session, each, { window, reading: neverPause }))
  return verifyDue(session, listed, {
    sourceOf: ({ calendar }) => calendar,
    failures,
    options,
    store: calendarComparisons(session),
    compared: each => comparedCalendar(session, each, { window, follow: () => follow(each) }),
  })
}

/**
 * Deletes events that are gone from where they were, and that are found nowhere.
 * @returns false if calendars are still to be read
 */
async function deleteMissing(
  session: Session,
  before: readonly ListedCalendar[],
  following: Following,
): Promise<boolean> {
  const { db, owned } = session
  const { window } = following
  const last = await settleMissing(session, before, {
    kind: 'calendar',
    hasMissing: () => hasMissing(db, owned.id),
    async lookAgain() {
      const marked = await listMarked(session)
      const listed = await lookAtCalendars(session, window)
      // The event may have moved to a calendar that seldom changes.
      const followed = await followListed(session, listed, { ...following, mayDefer: false })
      if (followed === 'more') return null
      await lookAtMarked(session, listed, { marked, window, failures: following.failures })
      return { look: listed, isQuiet: followed === 'quiet' }
    },
    deleteLost: lost =>
      underFence(session, (unit, account) => recordLost(unit, account, { ...lost, window })),
  })
  return last !== null
}

interface Following {
  window: CalendarWindow
  failures: Failures
  options: PassOptions
  /** Whether calendars that seldom change may be left to a later look. */
  mayDefer: boolean
}

/** As `followChanged`, for the calendars that have changed at the provider. */
async function followListed(
  session: Session,
  listed: readonly ListedCalendar[],
  { window, failures, options, mayDefer }: Following,
): Promise<'more' | 'news' | 'quiet'> {
  const asked = listed.map(({ calendar, remote }) => ({ calendar: remote, cursor: calendar.cursor }))
  const { provider, signal } = session
  const changed = asked.length === 0 ? new Set() : await provider.findChanged(asked, signal, mayDefer)
  session.progressed()
  const due = listed.filter(({ calendar, remote }) => !calendar.isComplete || changed.has(remote.key))
  const follow = (each: ListedCalendar, reading: Reading) =>
    followCalendar(session, each, { window, reading })
  return followChanged(due, { sourceOf: ({ calendar }) => calendar, failures, options, follow })
}

/**
 * Follows a calendar from its cursor. Deletions are recorded at the end, when their number is known; until then the stored
 * cursor stays before the first of them.
 * @returns whether it is caught up
 */
async function followCalendar(
  session: Session,
  listed: ListedCalendar,
  { window, reading }: { window: CalendarWindow; reading: Reading },
): Promise<boolean> {
  const { db, provider, signal, doubts } = session
  const { calendar, remote } = listed
  const known = () => loadKnownVersions(db, calendar.id, READER_VERSION)
  // A large calendar may be listed twice before anything of it is yielded.
  session.allow(LISTING_SECONDS_MAX)
  const gone = new Set<string>()
  for await (const step of provider.follow({
    calendar: remote,
    window,
    cursor: calendar.cursor,
    known,
    signal,
  })) {
    signal.throwIfAborted()
    if (step.type === 'gone') {
      for (const key of step.keys) gone.add(key)
      if (gone.size > 0 || step.cursor === undefined) continue
      // A server that names its changes page by page may end any page with this step.
      await recordStep(session, listed, window, { ...NOTHING_READ, cursor: step.cursor })
      calendar.cursor = step.cursor
      session.progressed()
      if (reading.mustPause()) return false
    } else if (step.type === 'items') {
      const { items, unreadable, remaining } = step
      for (const { key } of [...items, ...unreadable]) gone.delete(key)
      const cursor = gone.size === 0 ? step.cursor : undefined
      await recordStep(session, listed, window, { items, unreadable, gone: [], cursor, isComplete: false })
      if (cursor !== undefined) calendar.cursor = cursor
      session.progressed()
      await reading.onRead(items.length, remaining)
      // Without a cursor, it would begin again.
      if (cursor !== undefined && reading.mustPause()) return false
    } else {
      const all = await countItems(db, calendar.id)
      // A later pass asks again from the same cursor.
      if (!doubts.believes(`emptied ${calendar.id}`, gone.size, all)) return true
      const keys = [...gone]
      while (keys.length > GONE_AT_ONCE) {
        const some = keys.splice(0, GONE_AT_ONCE)
        await recordStep(session, listed, window, {
          items: [],
          unreadable: [],
          gone: some,
          isComplete: false,
        })
        session.progressed()
      }
      const end = { items: [], unreadable: [], gone: keys, cursor: step.cursor, isComplete: true }
      await recordStep(session, listed, window, end)
      calendar.cursor = step.cursor
      calendar.isComplete = true
      session.progressed()
      return true
    }
  }
  return false
}

/** The first sync is complete: from here on changes are announced. */
async function announceFirstSync(session: Session): Promise<void> {
  const { db, owned } = session
  await completeFirstSync(fenceOf(db, owned), async unit => {
    const data = await countContents(unit.sql, owned.id)
    unit.announce({ type: 'calendar.initialized', accountId: owned.id, data })
  })
  session.isInitialized = true
}
