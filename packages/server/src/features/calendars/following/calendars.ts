import type { RemoteCalendar } from '../../../providers/calendars.ts'
import { deleteSomeEvents, recordCalendars, recordDeletedCalendars } from '../calendars/record.ts'
import { planCalendars, UNZONED } from '../calendars/rules.ts'
import { type IndexedCalendar, listCalendars } from '../calendars/store.ts'
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
export async function lookAtCalendars(session: Session): Promise<ListedCalendar[]> {
  const { provider, signal, doubts } = session
  const remotes = await provider.listCalendars(signal)
  session.progressed()
  const { calendars, vanished } = await bringCalendars(session, remotes)
  doubts.forgetUnlisted(new Set([...vanished, ...calendars].map(({ id }) => id)))
  for (const { id } of calendars) doubts.forget(claimOf(id))
  for (const calendar of vanished)
    if (doubts.believesInTime(claimOf(calendar.id))) await deleteCalendar(session, calendar)
  const byKey = new Map(remotes.map(remote => [remote.key, remote]))
  const main = calendars.find(calendar => calendar.is_primary)?.time_zone ?? null
  return calendars.flatMap(calendar => {
    const remote = byKey.get(calendar.provider_key)
    return remote ? [{ calendar, remote, unzoned: calendar.time_zone ?? main ?? UNZONED }] : []
  })
}

const claimOf = (calendarId: string) => `vanished ${calendarId}`

/** Most looks find the calendars as they were, and write nothing. */
async function bringCalendars(session: Session, remotes: readonly RemoteCalendar[]) {
  const indexed = await listCalendars(session.db, session.owned.id)
  const { inserted, updated, vanished } = planCalendars(indexed, remotes)
  if (inserted.length + updated.length > 0)
    return underFence(session, (unit, account) => recordCalendars(unit, account, remotes))
  const gone = new Set(vanished.map(({ id }) => id))
  return {
    calendars: indexed.filter(({ id }) => !gone.has(id)),
    vanished: indexed.filter(({ id }) => gone.has(id)),
  }
}

async function deleteCalendar(session: Session, calendar: IndexedCalendar): Promise<void> {
  while (await underFence(session, unit => deleteSomeEvents(unit, calendar.id))) session.progressed()
  await underFence(session, (unit, account) => recordDeletedCalendars(unit, account, [calendar]))
}
