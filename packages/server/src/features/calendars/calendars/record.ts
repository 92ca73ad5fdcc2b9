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
} from './rules.ts'
import { type IndexedCalendar, listCalendars } from './store.ts'

const COLUMNS =
  sql.raw(`(id uuid, provider_key text, name text, description text, owner jsonb, is_primary boolean,
  access text, can_edit boolean, color text, time_zone text, is_hidden boolean, position integer)`)

/**
 * Brings the calendars of the index to those that the provider lists, and announces what differs. Calendars that the list
 * lacks stay until they are certainly gone (`recordDeletedCalendars`). The calendars of the account must be locked.
 * @param own the account's own addresses, as `comparedAddress` has them
 * @returns `isOutdated` if events must be made again, since the zone of their calendar or the addresses changed
 */
export async function recordCalendars(
  unit: UnitOfWork,
  account: CalendarAccount,
  remotes: readonly RemoteCalendar[],
  own: ReadonlySet<string>,
): Promise<{ calendars: IndexedCalendar[]; vanished: IndexedCalendar[]; isOutdated: boolean }> {
  const indexed = await listCalendars(unit.sql, account.id)
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

async function insertCalendars(
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

async function updateCalendars(unit: UnitOfWork, updated: readonly CalendarColumns[]): Promise<void> {
  if (updated.length === 0) return
  await sql`
    update calendar set name = next.name, description = next.description, owner = next.owner,
      is_primary = next.is_primary, access = next.access, can_edit = next.can_edit, color = next.color, time_zone = next.time_zone,
      is_hidden = next.is_hidden, position = next.position
    from json_to_recordset(${JSON.stringify(updated)}::json) as next ${COLUMNS}
    where calendar.id = next.id
  `.execute(unit.sql)
}

/** Deletes calendars with their events, and announces the calendars. The calendars of the account must be locked. */
export async function recordDeletedCalendars(
  unit: UnitOfWork,
  account: CalendarAccount,
  calendars: readonly CalendarColumns[],
): Promise<void> {
  const ids = calendars.map(({ id }) => id)
  if (ids.length === 0) return
  await sql`delete from calendar_event where calendar_id = any(${ids}::uuid[])`.execute(unit.sql)
  await sql`delete from calendar where account_id = ${account.id} and id = any(${ids}::uuid[])`.execute(
    unit.sql,
  )
  if (!account.isInitialized) return
  for (const calendar of calendars)
    unit.announce({
      type: 'calendar.deleted',
      accountId: account.id,
      data: { calendar: presentCalendar(calendar) },
    })
}

/**
 * Deletes some events of a calendar that is gone, in silence: the end of the calendar is announced. Should it come back
 * before that, all of it is compared.
 * @returns whether there may be more
 */
export async function deleteSomeEvents(unit: UnitOfWork, calendarId: string): Promise<boolean> {
  await recordCursor(unit, calendarId, { cursor: null, isComplete: false })
  const ids = await listDeletable(unit, sql`calendar_id = ${calendarId} and kind <> 'exception'`)
  await deleteItems(unit, ids)
  return ids.length > 0
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
