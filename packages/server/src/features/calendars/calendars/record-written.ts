import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { newId } from '../../../kit/ids.ts'
import { isStorableKey } from '../../../kit/storable.ts'
import type { RemoteCalendar } from '../../../providers/calendars.ts'
import { insertCalendars, updateCalendars } from './record.ts'
import {
  type CalendarAccount,
  type CalendarColumns,
  changedCalendarFields,
  columnsOf,
  presentCalendar,
} from './rules.ts'
import { listCalendars } from './store.ts'

/**
 * Records a calendar that was written to the provider, and announces what differs. A calendar that is new comes last. The
 * calendars of the account must be locked.
 * @returns null if its key cannot be stored
 */
export async function recordWrittenCalendar(
  unit: UnitOfWork,
  account: CalendarAccount,
  remote: RemoteCalendar,
): Promise<CalendarColumns | null> {
  if (!isStorableKey(remote.key)) return null
  const calendars = await listCalendars(unit.sql, account.id)
  const before = calendars.find(({ provider_key: key }) => key === remote.key) ?? null
  const columns = columnsOf(before?.id ?? newId(), remote, {
    position: before?.position ?? Math.max(-1, ...calendars.map(({ position }) => position)) + 1,
    isPrimary: before?.is_primary ?? remote.isPrimary ?? false,
    grantsWrites: account.grantsWrites,
  })
  const changes = before && changedCalendarFields(before, columns)
  if (before) await updateCalendars(unit, [columns])
  else await insertCalendars(unit, account, [columns])
  if (!account.isInitialized) return columns
  const data = { calendar: presentCalendar(columns) }
  if (!changes) unit.announce({ type: 'calendar.created', accountId: account.id, data })
  else if (changes.length > 0)
    unit.announce({ type: 'calendar.updated', accountId: account.id, data: { ...data, changes } })
  return columns
}
