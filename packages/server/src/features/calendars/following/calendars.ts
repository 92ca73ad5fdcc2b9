import type { CalendarWindow, RemoteCalendar } from '../../../providers/calendars.ts'
import { deleteSomeEvents, recordCalendars, recordDeletedCalendars } from '../calendars/record.ts'
import { unzonedOf } from '../calendars/rules.ts'
import type { IndexedCalendar } from '../calendars/store.ts'
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
  const remotes = await provider.listCalendars(signal)
  session.progressed()
  const { calendars, vanished, isOutdated } = await underFence(session, (unit, account, own) =>
    recordCalendars(unit, account, remotes, own),
  )
  doubts.forgetUnlisted(new Set([...vanished, ...calendars].map(({ id }) => id)))
  for (const { id } of calendars) doubts.forget(claimOf(id))
  for (const calendar of vanished)
    if (doubts.believesInTime(claimOf(calendar.id))) await deleteCalendar(session, calendar)
  if (isOutdated) await remakeOutdated(session, window)
  const byKey = new Map(remotes.map(remote => [remote.key, remote]))
  return calendars.flatMap(calendar => {
    const remote = byKey.get(calendar.provider_key)
    return remote ? [{ calendar, remote, unzoned: unzonedOf(calendar, calendars) }] : []
  })
}

const claimOf = (calendarId: string) => `vanished ${calendarId}`

/** Makes events again after the zone of their calendar or the addresses of the account changed. */
async function remakeOutdated(session: Session, window: CalendarWindow): Promise<void> {
  const { planner, signal } = session
  let count = 1
  while (count > 0) {
    signal.throwIfAborted()
    count = await underFence(session, (unit, account, own) =>
      remakeDue(unit, account, { own, window, planner }),
    )
    session.progressed()
  }
}

async function deleteCalendar(session: Session, calendar: IndexedCalendar): Promise<void> {
  while (await underFence(session, unit => deleteSomeEvents(unit, calendar.id))) session.progressed()
  await underFence(session, (unit, account) => recordDeletedCalendars(unit, account, [calendar]))
}
