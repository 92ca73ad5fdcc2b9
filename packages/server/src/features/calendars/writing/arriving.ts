import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { isStorableKey } from '../../../kit/storable.ts'
import type { RemoteObject } from '../../../providers/calendars.ts'

/** A provider may name a copy by itself. Items of which it is not known whether they are one wait so long, in minutes. */
const DOUBTFUL_MINUTES = 5

/**
 * The keys of items, and of members of items, that a move of the interface, which is under way, may have brought to a calendar. A
 * provider that has no move copies the item first: taken for a new one, it would get another id. A copy in a file keeps the
 * UID, or has the id of the move in its name, and other providers keep the key. Any other new item is one only while the move is
 * young.
 */
export async function findArriving(
  unit: UnitOfWork,
  { accountId, calendarId, calendarKey }: { accountId: string; calendarId: string; calendarKey: string },
  items: readonly RemoteObject[],
): Promise<Set<string>> {
  const given = items.flatMap(item => {
    const of = item.type === 'item' ? item.key : item.seriesKey
    const uid = item.type === 'item' && item.uid !== null && isStorableKey(item.uid) ? item.uid : null
    return isStorableKey(item.key) && isStorableKey(of) ? [{ key: item.key, of, uid }] : []
  })
  if (given.length === 0) return new Set()
  const { rows } = await sql<{ key: string }>`
    with move as materialized (${moves(accountId)})
    select key from json_to_recordset(${JSON.stringify(given)}::json) as given (key text, of text, uid text)
    where exists (
        select from move left join calendar_event as moved on moved.id = moved_id
        where moved_to = ${calendarKey} and (given.uid = moved.uid or given.of = moved.provider_key
          or given.of like '%/' || move.id || '.ics'
          or move.created_at > clock_timestamp() - make_interval(mins => ${DOUBTFUL_MINUTES})))
      and not exists (
        select from calendar_event where calendar_id = ${calendarId} and provider_key = given.of)
  `.execute(unit.sql)
  return new Set(rows.map(({ key }) => key))
}

/**
 * The keys among those that are gone from a calendar whose items a move of the interface is taking elsewhere, or has taken: they
 * keep their ids, with their members.
 */
export async function findLeaving(
  unit: UnitOfWork,
  { accountId, calendarId }: { accountId: string; calendarId: string },
  gone: readonly string[],
): Promise<Set<string>> {
  const keys = gone.filter(isStorableKey)
  if (keys.length === 0) return new Set()
  const { rows } = await sql<{ key: string }>`
    with move as materialized (${moves(accountId)})
    select provider_key as key from calendar_event
    where calendar_id = ${calendarId} and provider_key = any(${keys}::text[])
      and coalesce(series_id, id) in (select moved_id from move)
    union all
    select taken.provider_key from calendar_taken as taken join calendar_event as series on series.id = taken.series_id
    where series.calendar_id = ${calendarId} and taken.provider_key = any(${keys}::text[])
      and series.id in (select moved_id from move)
  `.execute(unit.sql)
  return new Set(rows.map(({ key }) => key))
}

/** The moves to other calendars that are noted for an account, in the form of any release. */
const moves = (accountId: string) => sql`
  select id, created_at, moved_to, moved_id from calendar_intent
  where account_id = ${accountId} and is_listed and moved_to is not null
  union all
  select id, created_at, coalesce(intent #>> '{asked,toCalendarKey}', intent ->> 'toCalendarKey'),
    coalesce(intent #>> '{item,id}', intent ->> 'itemId')::uuid
  from calendar_intent
  where account_id = ${accountId} and not is_listed
    and coalesce(intent #>> '{asked,toCalendarKey}', intent ->> 'toCalendarKey') is not null`
