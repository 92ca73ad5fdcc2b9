import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { HomeStore } from '../../../sync/looks/former-home.ts'
import { findHome, storeHome } from '../calendars/home.ts'
import { deleteSomeEvents, recordDeletedCalendars } from '../calendars/record.ts'
import { listCalendars } from '../calendars/store.ts'
import type { Loaded } from './session.ts'

export const CALENDAR_HOMES: HomeStore<Loaded> = {
  find: findHome,
  store: storeHome,
  deleteSome,
  // Deleted calendars take all of it along.
  forget: async () => {},
}

/** Deletes the events of one calendar after the other, and each calendar once it has none. */
async function deleteSome(unit: UnitOfWork, { account }: Loaded): Promise<boolean> {
  const [calendar, ...others] = await listCalendars(unit.sql, account.id)
  if (!calendar) return false
  if (await deleteSomeEvents(unit, calendar.id)) return true
  await recordDeletedCalendars(unit, account, [calendar])
  return others.length > 0
}
