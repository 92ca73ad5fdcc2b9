import { type RawBuilder, sql } from 'kysely'
import { refuse } from '../../../calls/refuse.ts'
import type { Db } from '../../../database/pool.ts'
import type { Cursor } from '../../../providers/mail.ts'
import type { CalendarColumns } from './rules.ts'

/** A calendar as the sync follows it. */
export interface IndexedCalendar extends CalendarColumns {
  cursor: Cursor | null
  /** Whether it was read to its end once. */
  isComplete: boolean
  /** A digest: see `outdatedBases`. */
  basis: string
}

/** The calendars of an account that have not ended, the primary one first, then in the order of the provider. */
export async function listCalendars(db: Db, accountId: string): Promise<IndexedCalendar[]> {
  const { rows } = await sql<IndexedCalendar>`
    select id, provider_key, name, description, owner, is_primary, access, can_edit, color, time_zone, is_hidden, position,
      cursor, is_complete as "isComplete", basis
    from calendar where account_id = ${accountId} and not is_ending order by is_primary desc, position, id
  `.execute(db)
  return rows
}

/** Refuses the id of no calendar of the account: `unknown_calendar`. */
export async function requireCalendar(db: Db, accountId: string, id: string): Promise<void> {
  const row = await db
    .selectFrom('calendar')
    .select('id')
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .where('is_ending', '=', false)
    .executeTakeFirst()
  if (!row) refuse('unknown_calendar')
}

/** The provider's key of a calendar of the index; null if there is none with this id. */
export async function findCalendarKey(db: Db, id: string): Promise<string | null> {
  const row = await db
    .selectFrom('calendar')
    .select('provider_key')
    .where('id', '=', id)
    .where('is_ending', '=', false)
    .executeTakeFirst()
  return row?.provider_key ?? null
}

/** Whether a calendar has ended that still has rows. */
export async function hasEnded(db: Db, accountId: string): Promise<boolean> {
  const { rows } = await sql<{ has: boolean }>`
    select exists (select from calendar where account_id = ${accountId} and is_ending) as has
  `.execute(db)
  return rows[0]?.has ?? false
}

/** The calendars of an account that have ended. Nothing of them is shown. */
export const endedCalendars = (accountId: string): RawBuilder<string[]> =>
  sql`array(select id from calendar where account_id = ${accountId} and is_ending)`

/** Counts what the first sync has brought. */
export async function countContents(
  db: Db,
  accountId: string,
): Promise<{ calendars: number; events: number }> {
  const { rows } = await sql<{ calendars: number; events: number }>`
    select (select count(*)::int from calendar where account_id = ${accountId} and not is_ending) as calendars,
      (select count(*)::int from calendar join calendar_event on calendar_id = calendar.id
        where calendar.account_id = ${accountId} and not is_ending and shown is not null) as events
  `.execute(db)
  return rows[0] ?? { calendars: 0, events: 0 }
}
