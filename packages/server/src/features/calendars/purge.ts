import type { Db } from '../../database/pool.ts'
import { deleteOfAccount } from '../accounts/accounts/purge.ts'

/** Tables of calendars with a column `account_id`; a table precedes the ones that it refers to. */
const TABLES = [
  'pending_invitation',
  'calendar_home',
  'calendar_comparison',
  'calendar_intent',
  'calendar_mark',
  'quarantined_calendar_event',
  'calendar_span',
  'calendar_taken',
  'calendar_event_body',
  'calendar_event',
  'calendar',
] as const

/** Deletes the calendars of an account. */
export async function purgeCalendars(db: Db, accountId: string, signal: AbortSignal): Promise<void> {
  await deleteOfAccount(db, TABLES, accountId, signal)
}
