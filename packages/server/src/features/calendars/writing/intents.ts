import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { ChangedPart, EventChange, ItemPlace } from '../../../providers/changing-calendars.ts'
import type { AskedChange } from './ask-events.ts'

/** A write of several calls to the provider, so that it may be found half done. */
export type WriteIntent = { place: ItemPlace; notify: boolean; concernsOthers: boolean } & (
  | { type: 'split'; part: Extract<ChangedPart, { type: 'following' }>; change: EventChange }
  /** `itemId`: the id that the moved item has in the index. */
  | { type: 'move'; toCalendarKey: string; itemId: string }
)

/** The intent of a change; null if that takes one call. */
export function intentOf(
  { target, place, part, change, toCalendarKey, concernsOthers }: AskedChange,
  notify: boolean,
): WriteIntent | null {
  if (part.type === 'following') return { type: 'split', place, part, change, notify, concernsOthers }
  const itemId = target.root.id
  return toCalendarKey === null
    ? null
    : { type: 'move', place, toCalendarKey, itemId, notify, concernsOthers: false }
}

/** The age up to which a write is taken to be under way. */
const UNDER_WAY_SECONDS = 60
const INTENTS_MAX = 20

/** Notes a write before its first call. The id is that of its creation. */
export async function beginIntent(
  unit: UnitOfWork,
  accountId: string,
  id: string,
  intent: WriteIntent,
): Promise<void> {
  await sql`
    insert into calendar_intent (id, account_id, intent)
    values (${id}, ${accountId}, ${JSON.stringify(intent)}::jsonb) on conflict (id) do nothing
  `.execute(unit.sql)
}

/** Ends a write, in the transaction that records it, or because it has certainly not begun. */
export async function endIntent(unit: UnitOfWork, accountId: string, id: string): Promise<void> {
  await sql`delete from calendar_intent where account_id = ${accountId} and id = ${id}`.execute(unit.sql)
}

/** A write that nobody is doing any more. */
export interface LeftIntent {
  id: string
  intent: WriteIntent
  isOld: boolean
}

/** The writes that nobody is doing any more, the oldest first. */
export async function listLeftIntents(db: Db, accountId: string): Promise<LeftIntent[]> {
  const { rows } = await sql<LeftIntent>`
    select id, intent, created_at < clock_timestamp() - interval '1 day' as "isOld" from calendar_intent
    where account_id = ${accountId}
      and created_at < clock_timestamp() - make_interval(secs => ${UNDER_WAY_SECONDS})
    order by created_at limit ${INTENTS_MAX}
  `.execute(db)
  return rows
}

/** The calendar in which a write makes something. */
export const madeIn = (intent: WriteIntent): string =>
  intent.type === 'move' ? intent.toCalendarKey : intent.place.calendarKey
