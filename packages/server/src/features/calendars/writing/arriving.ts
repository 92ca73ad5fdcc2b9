import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { isStorableKey } from '../../../kit/storable.ts'
import type { RemoteObject } from '../../../providers/calendars.ts'

/** A provider may name a copy by itself. Items of which it is not known whether they are one wait so long, in minutes. */
const DOUBTFUL_MINUTES = 5

/**
 * The keys of items that a move of the interface, which is under way, may have brought to a calendar. A provider that has no
 * move copies the item first: taken for a new one, it would get another id. A copy in a file keeps the UID, or has the id of
 * the move in its name. Any other new item is one only while the move is young.
 */
export async function findArriving(
  unit: UnitOfWork,
  { accountId, calendarId, calendarKey }: { accountId: string; calendarId: string; calendarKey: string },
  items: readonly RemoteObject[],
): Promise<Set<string>> {
  const given = items.flatMap(item =>
    item.type === 'item' && isStorableKey(item.key)
      ? [{ key: item.key, uid: item.uid !== null && isStorableKey(item.uid) ? item.uid : null }]
      : [],
  )
  if (given.length === 0) return new Set()
  const { rows } = await sql<{ key: string }>`
    with move as materialized (
      select id, created_at,
        case when is_listed then moved_id else coalesce(intent #>> '{item,id}', intent ->> 'itemId')::uuid end
          as moved_id
      from calendar_intent
      where account_id = ${accountId} and case
        when is_listed then moved_to
        else coalesce(intent #>> '{asked,toCalendarKey}', intent ->> 'toCalendarKey')
        end = ${calendarKey}
    )
    select key from json_to_recordset(${JSON.stringify(given)}::json) as given (key text, uid text)
    where exists (
        select from move left join calendar_event as moved on moved.id = moved_id
        where given.uid = moved.uid or given.key like '%/' || move.id || '.ics'
          or move.created_at > clock_timestamp() - make_interval(mins => ${DOUBTFUL_MINUTES}))
      and not exists (
        select from calendar_event where calendar_id = ${calendarId} and provider_key = key)
  `.execute(unit.sql)
  return new Set(rows.map(({ key }) => key))
}
