import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { HomeStore } from '../../../sync/looks/former-home.ts'
import { findHome, storeHome } from '../calendars/home.ts'
import { deleteSomeEnded, recordEndedCalendars } from '../calendars/record.ts'
import { listCalendars } from '../calendars/store.ts'
import type { Loaded } from './session.ts'

export const CALENDAR_HOMES: HomeStore<Loaded> = {
  find: findHome,
  store: storeHome,
  deleteSome,
  // Deleted calendars take all of it along.
  forget: async () => {},
}

/** Announces the end of all calendars, and then deletes their events. */
async function deleteSome(unit: UnitOfWork, { account }: Loaded): Promise<boolean> {
  const calendars = await listCalendars(unit.sql, account.id)
  if (calendars.length === 0) return deleteSomeEnded(unit, account.id)
  await recordEndedCalendars(unit, account, calendars)
  return true
}
