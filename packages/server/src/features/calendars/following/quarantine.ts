import { sql } from 'kysely'
import {
  storableUnreadable,
  type Unreadable,
  UNVERSIONED_RETRY_HOURS,
} from '../../../accounts/halves/quarantined.ts'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { isStorableKey } from '../../../kit/storable.ts'

/** Raise it when the adapters learn to read more: every quarantined item is then read again. */
export const READER_VERSION = 1

/**
 * Keeps items of a calendar that could not be read, until they have another version. An item that the index has stays as
 * it was last read.
 */
export async function quarantine(
  unit: UnitOfWork,
  { accountId, calendarId }: { accountId: string; calendarId: string },
  unreadable: readonly Unreadable[],
): Promise<void> {
  if (unreadable.length === 0) return
  await sql`
    insert into quarantined_calendar_event (calendar_id, account_id, provider_key, version, reason, reader_version,
      next_attempt_at)
    select ${calendarId}::uuid, ${accountId}::uuid, key, version, reason, ${READER_VERSION}::smallint,
      case when version is null then clock_timestamp() + make_interval(hours => ${UNVERSIONED_RETRY_HOURS}::int)
        else 'infinity' end
    from json_to_recordset(${JSON.stringify(storableUnreadable(unreadable))}::json)
      as failed (key text, version text, reason text)
    order by key
    on conflict (calendar_id, provider_key) do update set version = excluded.version, reason = excluded.reason,
      reader_version = excluded.reader_version, next_attempt_at = excluded.next_attempt_at
  `.execute(unit.sql)
}

/** Forgets items that could be read after all, or that the calendar does not have any more. */
export async function releaseFromQuarantine(
  unit: UnitOfWork,
  calendarId: string,
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) return
  await sql`
    delete from quarantined_calendar_event where calendar_id = ${calendarId} and provider_key = any(${keys.filter(isStorableKey)}::text[])
  `.execute(unit.sql)
}

/** Keys of items of these calendars that are to be read again, by the calendar's id. */
export async function listDue(
  db: Db,
  accountId: string,
  calendarIds: readonly string[],
  limit: number,
): Promise<Map<string, string[]>> {
  const { rows } = await sql<{ key: string; calendarId: string }>`
    select provider_key as key, calendar_id as "calendarId" from quarantined_calendar_event
    where account_id = ${accountId} and calendar_id = any(${[...calendarIds]}::uuid[])
      and (next_attempt_at <= clock_timestamp() or reader_version < ${READER_VERSION})
    order by calendar_id, provider_key limit ${limit}
  `.execute(db)
  return new Map(
    [...Map.groupBy(rows, row => row.calendarId)].map(([id, ones]) => [id, ones.map(({ key }) => key)]),
  )
}

export async function listQuarantinedKeys(db: Db, calendarId: string): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    select provider_key as key from quarantined_calendar_event where calendar_id = ${calendarId}
  `.execute(db)
  return rows.map(({ key }) => key)
}

export async function countQuarantined(db: Db, accountId: string): Promise<number> {
  return count(db, sql`where account_id = ${accountId}`)
}

export async function countAllQuarantined(db: Db): Promise<number> {
  return count(db, sql``)
}

async function count(db: Db, where: ReturnType<typeof sql>): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from quarantined_calendar_event ${where}
  `.execute(db)
  return rows[0]?.count ?? 0
}
