import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { isStorableKey } from '../../../kit/storable.ts'
import type { CalendarWindow, RemoteObject } from '../../../providers/calendars.ts'
import type { CalendarAccount } from '../calendars/rules.ts'
import { endedCalendars } from '../calendars/store.ts'
import { announceDeleted } from './announce.ts'
import { deleteItems, listDeletable } from './delete-items.ts'
import { type HeldItem, loadItemsById } from './load-items.ts'

/** A UID that more items have than this does not tell them apart. */
const SAME_UID_MAX = 10

/** A place that an item has in the index. */
export interface HeldPlace {
  id: string
  calendarId: string
  key: string
}

interface Arrived {
  key: string
  uid: string
}

/** Items by the keys under which they are read, if their UIDs make them known again under other keys. */
export function movable(items: readonly RemoteObject[]): Arrived[] {
  return items.flatMap(item =>
    item.type === 'item' && item.uid !== null && isStorableKey(item.uid) && isStorableKey(item.key)
      ? [{ key: item.key, uid: item.uid }]
      : [],
  )
}

/**
 * Places of the index that have the UID of one of these items of a calendar, which the index does not have under its own
 * key. The items have moved from there, unless they are copies.
 */
export async function listSameUid(
  db: Db,
  { accountId, calendarId }: { accountId: string; calendarId: string },
  arrived: readonly Arrived[],
): Promise<HeldPlace[]> {
  if (arrived.length === 0) return []
  const { rows } = await sql<HeldPlace>`
    select distinct held.id, held.calendar_id as "calendarId", held.provider_key as key
    from json_to_recordset(${JSON.stringify(arrived)}::json) as arrived (key text, uid text)
    cross join lateral (
      select id, calendar_id, provider_key, missing_look, count(*) over () as sharing from (
        select id, calendar_id, provider_key, missing_look from calendar_event
        where account_id = ${accountId} and calendar_event.uid = arrived.uid
          and calendar_id <> all(${endedCalendars(accountId)}) limit ${SAME_UID_MAX + 1}) as few
    ) as held
    where held.sharing <= ${SAME_UID_MAX} and held.missing_look is null
      and not exists (
        select from calendar_event as known
        where known.calendar_id = ${calendarId} and known.provider_key = arrived.key)
    order by held.id
  `.execute(db)
  return rows
}

/**
 * Items of the index that have moved to these keys: they have the same UID, and are gone from where they were.
 * @param goneIds items that the provider was asked about, and no longer has under their keys
 * @param known items that are read under the keys that they have
 * @returns the items by their new keys
 */
export async function loadMoved(
  unit: UnitOfWork,
  account: CalendarAccount,
  {
    arrived,
    goneIds,
    known,
  }: { arrived: readonly Arrived[]; goneIds: ReadonlySet<string>; known: readonly HeldItem[] },
): Promise<Map<string, HeldItem>> {
  if (arrived.length === 0) return new Map()
  const { rows } = await sql<{ id: string; uid: string }>`
    select id, uid from calendar_event
    where account_id = ${account.id} and uid = any(${arrived.map(({ uid }) => uid)}::text[])
      and (missing_look is not null or id = any(${[...goneIds]}::uuid[]))
      and id <> all(${known.map(({ root }) => root.id)}::uuid[])
    order by id
  `.execute(unit.sql)
  const free = Map.groupBy(rows, ({ uid }) => uid)
  const idOf = new Map(
    arrived.flatMap(({ key, uid }) => {
      const taken = free.get(uid)?.shift()
      return taken ? [[key, taken.id] as const] : []
    }),
  )
  const items = await loadItemsById(unit, account.id, [...idOf.values()])
  const byId = new Map(items.map(item => [item.root.id, item]))
  return new Map(
    [...idOf].flatMap(([key, id]) => {
      const item = byId.get(id)
      return item ? [[key, item] as const] : []
    }),
  )
}

/**
 * Notes that items with UIDs are gone from a calendar. They may be found in other ones, and keep their ids then;
 * `recordLost` deletes those that are not.
 * @returns the keys among these that such items have
 */
export async function markMissing(
  unit: UnitOfWork,
  account: CalendarAccount,
  calendarId: string,
  keys: readonly string[],
): Promise<Set<string>> {
  const { rows } = await sql<{ key: string }>`
    update calendar_event set missing_look = coalesce(missing_look,
      (select look from account_half where account_id = ${account.id} and kind = 'calendar'))
    where calendar_id = ${calendarId} and provider_key = any(${keys.filter(isStorableKey)}::text[])
      and kind <> 'exception' and uid is not null
    returning provider_key as key
  `.execute(unit.sql)
  return new Set(rows.map(({ key }) => key))
}

/** Notes that items were found. */
export async function clearMissing(unit: UnitOfWork, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await sql`update calendar_event set missing_look = null where id = any(${[...ids]}::uuid[])`.execute(
    unit.sql,
  )
}

export async function hasMissing(db: Db, accountId: string): Promise<boolean> {
  const { rows } = await sql<{ has: boolean }>`
    select exists (select from calendar_event where account_id = ${accountId} and missing_look is not null) as has
  `.execute(db)
  return rows[0]?.has ?? false
}

/**
 * Deletes up to `limit` items that were missing before this look, and that it has found nowhere, and announces that. Items
 * that the interface changed meanwhile are asked about first.
 * @returns how many; 0: there are none
 */
export async function recordLost(
  unit: UnitOfWork,
  account: CalendarAccount,
  { beforeLook, limit, window }: { beforeLook: number; limit: number; window: CalendarWindow },
): Promise<number> {
  const isLost = sql<boolean>`account_id = ${account.id} and missing_look < ${beforeLook}
    and not exists (
      select from calendar_mark as marked
      where marked.calendar_id = calendar_event.calendar_id and marked.provider_key = calendar_event.provider_key)`
  const ids = await listDeletable(unit, isLost, limit)
  if (ids.length === 0) return 0
  const lost = account.isInitialized ? await loadItemsById(unit, account.id, ids) : []
  await deleteItems(unit, ids)
  for (const item of lost) announceDeleted(unit, account, item, window)
  return ids.length
}
