import { sql } from 'kysely'
import { refuse } from '../../../calls/refuse.ts'
import type { Db } from '../../../database/pool.ts'
import type { Cursor } from '../../../providers/mail.ts'
import type { CalendarColumns } from './rules.ts'

/** A calendar as the sync follows it. */
export interface IndexedCalendar extends CalendarColumns {
  cursor: Cursor | null
  /** Whether it was read to its end once. */
  isComplete: boolean
  /** As `basisOf` gives it. */
  basis: string
}

/** The calendars of an account, the primary one first, then in the order of the provider. */
export async function listCalendars(db: Db, accountId: string): Promise<IndexedCalendar[]> {
  const { rows } = await sql<IndexedCalendar>`
    select id, provider_key, name, description, owner, is_primary, access, can_edit, color, time_zone, is_hidden, position, cursor,
      is_complete as "isComplete", basis
    from calendar where account_id = ${accountId} order by is_primary desc, position, id
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
    .executeTakeFirst()
  if (!row) refuse('unknown_calendar')
}

/** Counts what the first sync has brought. */
export async function countContents(
  db: Db,
  accountId: string,
): Promise<{ calendars: number; events: number }> {
  const { rows } = await sql<{ calendars: number; events: number }>`
    select (select count(*)::int from calendar where account_id = ${accountId}) as calendars,
      (select count(*)::int from calendar join calendar_event on calendar_id = calendar.id
        where calendar.account_id = ${accountId} and shown is not null) as events
  `.execute(db)
  return rows[0] ?? { calendars: 0, events: 0 }
}
