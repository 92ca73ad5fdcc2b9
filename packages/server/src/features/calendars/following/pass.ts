import { holdingOwned } from '../../../accounts/halves/lock.ts'
import { FenceLost } from '../../../accounts/halves/ownership.ts'
import { holdAccount, recordInitialized } from '../../../accounts/halves/progress.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import type { CalendarWindow, RemoteCalendar, RemoteObject } from '../../../providers/calendars.ts'
import type { Cursor } from '../../../providers/mail.ts'
import { recordCalendars, recordCursor, recordDeletedCalendars } from '../calendars/record.ts'
import { loadLockedCalendars } from '../calendars/record-account.ts'
import { UNZONED } from '../calendars/rules.ts'
import { countContents, type IndexedCalendar } from '../calendars/store.ts'
import { recordEvents, recordGone } from '../events/record.ts'
import { countItems, loadKnownVersions } from '../events/store.ts'
import { keptWindow } from '../events/window.ts'
import { type Session, underFence } from './session.ts'

/** A calendar of the index, as it is followed at the provider. */
interface ListedCalendar {
  calendar: IndexedCalendar
  remote: RemoteCalendar
  /** The zone in which whole days and floating times of the calendar lie. */
  unzoned: string
}

/**
 * Makes one pass over the calendars of an account: records the calendars themselves, and follows those that changed. A
 * calendar that is not listed any more is believed to be gone only if it is still not listed a while later.
 */
export async function runPass(session: Session): Promise<void> {
  const { provider, signal } = session
  const remotes = await provider.listCalendars(signal)
  session.progressed()
  const listed = await lookAtCalendars(session, remotes)
  const asked = listed.map(({ calendar, remote }) => ({ calendar: remote, cursor: calendar.cursor }))
  const changed = asked.length === 0 ? new Set() : await provider.findChanged(asked, signal)
  session.progressed()
  const window = keptWindow(session.days, Date.now())
  for (const each of listed)
    if (!each.calendar.is_complete || changed.has(each.remote.key))
      await followCalendar(session, each, window)
  if (!session.isInitialized && listed.every(({ calendar }) => calendar.is_complete))
    await completeFirstSync(session)
}

async function lookAtCalendars(
  session: Session,
  remotes: readonly RemoteCalendar[],
): Promise<ListedCalendar[]> {
  const { doubts } = session
  const calendars = await underFence(session, async (unit, account) => {
    const { calendars: known, vanished } = await recordCalendars(unit, account, remotes)
    doubts.forgetUnlisted(new Set([...vanished, ...known].map(({ id }) => id)))
    for (const { id } of known) doubts.forget(`vanished ${id}`)
    const gone = vanished.filter(({ id }) => doubts.believesInTime(`vanished ${id}`))
    await recordDeletedCalendars(unit, account, gone)
    return known
  })
  const byKey = new Map(remotes.map(remote => [remote.key, remote]))
  const main = calendars.find(calendar => calendar.is_primary)?.time_zone ?? null
  return calendars.flatMap(calendar => {
    const remote = byKey.get(calendar.provider_key)
    return remote ? [{ calendar, remote, unzoned: calendar.time_zone ?? main ?? UNZONED }] : []
  })
}

/**
 * Follows a calendar from its cursor. Deletions are recorded at the end, when their number is known; until then the stored
 * cursor stays before the first of them.
 */
async function followCalendar(
  session: Session,
  listed: ListedCalendar,
  window: CalendarWindow,
): Promise<void> {
  const { db, provider, signal, doubts } = session
  const { calendar, remote } = listed
  const known = () => loadKnownVersions(db, calendar.id)
  const from = { calendar: remote, window, cursor: calendar.cursor, known, signal }
  const gone = new Set<string>()
  for await (const step of provider.follow(from)) {
    signal.throwIfAborted()
    if (step.type === 'gone') for (const key of step.keys) gone.add(key)
    else if (step.type === 'items') {
      for (const { key } of step.items) gone.delete(key)
      const cursor = gone.size === 0 ? step.cursor : undefined
      await recordStep(session, listed, window, { items: step.items, gone: [], cursor, isComplete: false })
    } else {
      const all = await countItems(db, calendar.id)
      // A later pass asks again from the same cursor.
      if (!doubts.believes(`emptied ${calendar.id}`, gone.size, all)) return
      const end = { items: [], gone: [...gone], cursor: step.cursor, isComplete: true }
      await recordStep(session, listed, window, end)
      calendar.is_complete = true
    }
    session.progressed()
  }
}

interface RecordedStep {
  items: readonly RemoteObject[]
  gone: readonly string[]
  /** Undefined: stays as it is. */
  cursor: Cursor | null | undefined
  isComplete: boolean
}

/** Records one step of following a calendar, with its cursor, in one transaction. */
async function recordStep(
  session: Session,
  { calendar, unzoned }: ListedCalendar,
  window: CalendarWindow,
  { items, gone, cursor, isComplete }: RecordedStep,
): Promise<void> {
  await underFence(session, async (unit, account, own) => {
    const recording = { calendarId: calendar.id, unzoned, window, own }
    await recordEvents(unit, account, items, recording)
    await recordGone(unit, account, gone, recording)
    if (cursor !== undefined) await recordCursor(unit, calendar.id, { cursor, isComplete })
  })
}

/** The first sync is complete: from here on changes are announced. */
async function completeFirstSync(session: Session): Promise<void> {
  const { db, owned } = session
  await inTransaction(db, owned.tenantId, async unit => {
    await holdAccount(unit, owned.id)
    const loaded = await loadLockedCalendars(unit, owned.id, holdingOwned(owned, 'calendar'))
    if (!loaded) throw new FenceLost(owned.id)
    if (loaded.account.isInitialized) return
    await recordInitialized(unit, owned.id, 'calendar')
    const data = await countContents(unit.sql, owned.id)
    unit.announce({ type: 'calendar.initialized', accountId: owned.id, data })
  })
  session.isInitialized = true
}
