import type { CalendarWindow, RemoteCalendar } from '../../../providers/calendars.ts'
import { deleteSomeEnded, recordCalendars, recordEndedCalendars } from '../calendars/record.ts'
import { findCalendarFacts } from '../calendars/record-account.ts'
import { outdatedBases, planCalendars, unzonedOf } from '../calendars/rules.ts'
import { hasEnded, type IndexedCalendar, listCalendars } from '../calendars/store.ts'
import { remakeDue } from '../events/remake.ts'
import { type Session, underFence } from './session.ts'

/** A calendar of the index, as it is followed at the provider. */
export interface ListedCalendar {
  calendar: IndexedCalendar
  remote: RemoteCalendar
  /** The zone in which whole days and floating times of the calendar lie. */
  unzoned: string
}

/**
 * Lists the calendars of the provider and records them. A calendar that is not listed any more is believed to be gone only
 * if it is still not listed a while later; until then it is left as it is.
 */
export async function lookAtCalendars(session: Session, window: CalendarWindow): Promise<ListedCalendar[]> {
  const { provider, signal, doubts } = session
  const seen = await listCalendars(session.db, session.owned.id)
  const remotes = await provider.listCalendars(signal)
  session.progressed()
  const { calendars, vanished, isOutdated } = await bringCalendars(session, remotes, seen)
  if (isOutdated) await remakeOutdated(session, window)
  doubts.forgetUnlisted(new Set([...vanished, ...calendars].map(({ id }) => id)))
  for (const { id } of calendars) doubts.forget(claimOf(id))
  for (const calendar of vanished)
    if (doubts.believesInTime(claimOf(calendar.id)))
      await underFence(session, (unit, account) => recordEndedCalendars(unit, account, [calendar]))
  await deleteEnded(session)
  const byKey = new Map(remotes.map(remote => [remote.key, remote]))
  // The zone of a calendar in doubt counts. If it is gone, the next look makes the events again.
  const indexed = [...calendars, ...vanished]
  return calendars.flatMap(calendar => {
    const remote = byKey.get(calendar.provider_key)
    return remote ? [{ calendar, remote, unzoned: unzonedOf(calendar, indexed) }] : []
  })
}

const claimOf = (calendarId: string) => `vanished ${calendarId}`

/** Most looks find the calendars as they were, and write nothing. */
async function bringCalendars(
  session: Session,
  remotes: readonly RemoteCalendar[],
  indexed: readonly IndexedCalendar[],
) {
  const { grantsWrites, own: known } = await findCalendarFacts(session.db, session.owned.id)
  const { inserted, updated, vanished } = planCalendars(indexed, remotes, grantsWrites)
  if (inserted.length + updated.length + outdatedBases(indexed, known).length > 0)
    return underFence(session, (unit, account, own) =>
      recordCalendars(unit, account, remotes, { own, seen: indexed }),
    )
  const gone = new Set(vanished.map(({ id }) => id))
  return {
    calendars: indexed.filter(({ id }) => !gone.has(id)),
    vanished: indexed.filter(({ id }) => gone.has(id)),
    isOutdated: false,
  }
}

/** Makes events again after the zone of their calendar or the addresses of the account changed. */
async function remakeOutdated(session: Session, window: CalendarWindow): Promise<void> {
  let count = 1
  while (count > 0) {
    session.signal.throwIfAborted()
    count = await session.planner.run(session.owned.id, planner =>
      underFence(session, (unit, account, own) => remakeDue(unit, account, { own, window, planner })),
    )
    session.progressed()
  }
}

/** Deletes the events of calendars that have ended. */
async function deleteEnded(session: Session): Promise<void> {
  if (!(await hasEnded(session.db, session.owned.id))) return
  while (await underFence(session, unit => deleteSomeEnded(unit, session.owned.id))) session.progressed()
}
