import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { isStorableKey } from '../../../kit/storable.ts'
import type { RemoteObject } from '../../../providers/calendars.ts'

/**
 * The keys of items that a move of the interface, which is under way, may have brought to a calendar. A provider that has no
 * move copies the item first: taken for a new one, it would get another id.
 */
export async function findArriving(
  unit: UnitOfWork,
  { accountId, calendarId, calendarKey }: { accountId: string; calendarId: string; calendarKey: string },
  items: readonly RemoteObject[],
): Promise<Set<string>> {
  const keys = items.flatMap(({ type, key }) => (type === 'item' && isStorableKey(key) ? [key] : []))
  if (keys.length === 0) return new Set()
  const { rows } = await sql<{ key: string }>`
    select key from unnest(${keys}::text[]) as key
    where exists (
        select from calendar_intent
        where account_id = ${accountId} and intent -> 'asked' ->> 'toCalendarKey' = ${calendarKey})
      and not exists (
        select from calendar_event where calendar_id = ${calendarId} and provider_key = key)
  `.execute(unit.sql)
  return new Set(rows.map(({ key }) => key))
}
