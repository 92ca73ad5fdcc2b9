import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { RemoteCalendar } from '../../../providers/calendars.ts'
import type { Cursor } from '../../../providers/mail.ts'
import { deleteItems, listDeletable } from '../events/delete-items.ts'
import {
  type CalendarAccount,
  type CalendarColumns,
  outdatedBases,
  planCalendars,
  presentCalendar,
  withoutWritten,
} from './rules.ts'
import { type IndexedCalendar, listCalendars } from './store.ts'

const COLUMNS =
  sql.raw(`(id uuid, provider_key text, name text, description text, owner jsonb, is_primary boolean,
  access text, can_edit boolean, color text, time_zone text, is_hidden boolean, position integer)`)

/**
 * Brings the calendars of the index to those that the provider lists, and announces what differs. Calendars that the list
 * lacks stay until they are certainly gone (`recordEndedCalendars`). The calendars of the account must be locked.
 * @param own the account's own addresses, as `comparedAddress` has them
 * @param seen the calendars of the index before the provider was asked for its list
 * @returns `isOutdated` if events must be made again, since the zone of their calendar or the addresses changed
 */
export async function recordCalendars(
  unit: UnitOfWork,
  account: CalendarAccount,
  listed: readonly RemoteCalendar[],
  { own, seen }: { own: ReadonlySet<string>; seen: readonly CalendarColumns[] },
): Promise<{ calendars: IndexedCalendar[]; vanished: IndexedCalendar[]; isOutdated: boolean }> {
  const indexed = await listCalendars(unit.sql, account.id)
  const remotes = withoutWritten(listed, seen, indexed)
  const { inserted, updated, vanished } = planCalendars(indexed, remotes, account.grantsWrites)
  await insertCalendars(unit, account, inserted)
  await updateCalendars(
    unit,
    updated.map(({ columns }) => columns),
  )
  if (account.isInitialized) {
    for (const columns of inserted)
      unit.announce({
        type: 'calendar.created',
        accountId: account.id,
        data: { calendar: presentCalendar(columns) },
      })
    for (const { columns, changes } of updated)
      if (changes.length > 0)
        unit.announce({
          type: 'calendar.updated',
          accountId: account.id,
          data: { calendar: presentCalendar(columns), changes },
        })
  }
  const gone = new Set(vanished.map(({ id }) => id))
  const [left, all] = [
    indexed.filter(({ id }) => gone.has(id)),
    inserted.length + updated.length === 0 ? indexed : await listCalendars(unit.sql, account.id),
  ]
  const isOutdated = await recordBases(unit, all, own)
  return { calendars: all.filter(({ id }) => !gone.has(id)), vanished: left, isOutdated }
}

/** Marks the events of calendars whose basis has changed, so that they are made again. */
async function recordBases(
  unit: UnitOfWork,
  calendars: readonly IndexedCalendar[],
  own: ReadonlySet<string>,
): Promise<boolean> {
  const changed = outdatedBases(calendars, own)
  if (changed.length === 0) return false
  await sql`
    update calendar set basis = next.basis
    from json_to_recordset(${JSON.stringify(changed)}::json) as next (id uuid, basis text) where calendar.id = next.id
  `.execute(unit.sql)
  const { numAffectedRows = 0n } = await sql`
    update calendar_event set zone_release = ''
    where calendar_id = any(${changed.map(({ id }) => id)}::uuid[]) and kind <> 'exception' and zone_release <> ''
  `.execute(unit.sql)
  return numAffectedRows > 0n
}

export async function insertCalendars(
  unit: UnitOfWork,
  account: CalendarAccount,
  inserted: readonly CalendarColumns[],
): Promise<void> {
  if (inserted.length === 0) return
  await sql`
    insert into calendar (id, tenant_id, account_id, provider_key, name, description, owner, is_primary, access, can_edit,
      color, time_zone, is_hidden, position, basis)
    select id, ${account.tenantId}::uuid, ${account.id}::uuid, provider_key, name, description, owner, is_primary, access,
      can_edit, color, time_zone, is_hidden, position, ''
    from json_to_recordset(${JSON.stringify(inserted)}::json) as inserted ${COLUMNS}
  `.execute(unit.sql)
}

export async function updateCalendars(unit: UnitOfWork, updated: readonly CalendarColumns[]): Promise<void> {
  if (updated.length === 0) return
  await sql`
    update calendar set name = next.name, description = next.description, owner = next.owner,
      is_primary = next.is_primary, access = next.access, can_edit = next.can_edit, color = next.color, time_zone = next.time_zone,
      is_hidden = next.is_hidden, position = next.position
    from json_to_recordset(${JSON.stringify(updated)}::json) as next ${COLUMNS}
    where calendar.id = next.id
  `.execute(unit.sql)
}

/**
 * Records the end of calendars, and announces it. From this commit on they and their events are not shown; `deleteSomeEnded`
 * deletes the events in silence. A calendar with the same key may come back as another one. The calendars of the account must
 * be locked.
 */
export async function recordEndedCalendars(
  unit: UnitOfWork,
  account: CalendarAccount,
  calendars: readonly CalendarColumns[],
): Promise<void> {
  const ids = calendars.map(({ id }) => id)
  const { rows } = await sql<{ id: string }>`
    update calendar set is_ending = true, is_primary = false, provider_key = id::text
    where account_id = ${account.id} and id = any(${ids}::uuid[]) and not is_ending
    returning id
  `.execute(unit.sql)
  const ended = new Set(rows.map(({ id }) => id))
  // They go with their calendar, and are not looked for in others.
  await sql`
    update calendar_event set missing_look = null
    where account_id = ${account.id} and missing_look is not null and calendar_id = any(${[...ended]}::uuid[])
  `.execute(unit.sql)
  if (!account.isInitialized) return
  for (const calendar of calendars)
    if (ended.has(calendar.id))
      unit.announce({
        type: 'calendar.deleted',
        accountId: account.id,
        data: { calendar: presentCalendar(calendar) },
      })
}

/**
 * Deletes some events of a calendar that has ended, or the calendar once it has none.
 * @returns whether there may be more
 */
export async function deleteSomeEnded(unit: UnitOfWork, accountId: string): Promise<boolean> {
  const { rows } = await sql<{ id: string }>`
    select id from calendar where account_id = ${accountId} and is_ending limit 1
  `.execute(unit.sql)
  const [ended] = rows
  if (!ended) return false
  const ids = await listDeletable(unit, sql`calendar_id = ${ended.id} and kind <> 'exception'`)
  await deleteItems(unit, ids)
  if (ids.length === 0) await sql`delete from calendar where id = ${ended.id}`.execute(unit.sql)
  return true
}

/** Stores how far a calendar is recorded, in the transaction of the step. */
export async function recordCursor(
  unit: UnitOfWork,
  calendarId: string,
  { cursor, isComplete }: { cursor: Cursor | null; isComplete: boolean },
): Promise<void> {
  await sql`
    update calendar set cursor = ${cursor && JSON.stringify(cursor)}::jsonb, is_complete = is_complete or ${isComplete}
    where id = ${calendarId}
  `.execute(unit.sql)
}
