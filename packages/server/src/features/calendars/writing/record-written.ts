import type { CalendarEventWithBody } from '@waxwing/contract/calendars/calendar-events.ts'
import { sql } from 'kysely'
import { refuse } from '../../../calls/refuse.ts'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { isStorableKey } from '../../../kit/storable.ts'
import type { CalendarWindow } from '../../../providers/calendars.ts'
import type { EventResponse, ItemPlace, WrittenEvents } from '../../../providers/changing-calendars.ts'
import { type CalendarAccount, unzonedOf } from '../calendars/rules.ts'
import { type IndexedCalendar, listCalendars } from '../calendars/store.ts'
import type { ItemPlanner } from '../events/planner.ts'
import { recordEvents, recordGone } from '../events/record.ts'
import { sortStorable } from '../events/storable-object.ts'
import { findBody, findEvent } from '../events/store.ts'
import { recordMarks } from '../marks/record-marks.ts'

export interface RecordingWritten {
  window: CalendarWindow
  planner: ItemPlanner
  /** The id of the item that was moved to the place of the write; null: none was. */
  movedId: string | null
}

/** An account whose calendars are locked. */
export interface LockedCalendars {
  account: CalendarAccount
  own: ReadonlySet<string>
}

/**
 * Records what a write has done at the provider, and marks its keys, so that no step of the sync undoes this. Calendars that
 * are gone by now are left out.
 */
export async function recordWritten(
  unit: UnitOfWork,
  { account, own }: LockedCalendars,
  { items, gone, place }: WrittenEvents,
  { window, planner, movedId }: RecordingWritten,
): Promise<void> {
  const { id: accountId } = account
  const calendars = await listCalendars(unit.sql, accountId)
  const recordingOf = (calendarKey: string) => {
    const calendar = calendars.find(({ provider_key: key }) => key === calendarKey)
    return (
      calendar && {
        calendarId: calendar.id,
        unzoned: unzonedOf(calendar, calendars),
        window,
        own,
        planner,
        keepsEnded: true,
        ...(movedId !== null &&
          calendarKey === place.calendarKey && { formerIds: new Map([[place.key, movedId]]) }),
      }
    )
  }
  const formerKeys = movedId === null ? [] : await listMemberKeys(unit, movedId)
  for (const [calendarKey, written] of Map.groupBy(items, item => item.calendarKey)) {
    const recording = recordingOf(calendarKey)
    const { items: objects } = sortStorable(written.map(({ object }) => object))
    if (recording) await recordEvents(unit, account, objects, recording)
  }
  for (const [calendarKey, places] of Map.groupBy(gone, one => one.calendarKey)) {
    const recording = recordingOf(calendarKey)
    const keys = places.map(({ key }) => key)
    if (recording) await recordGone(unit, account, keys, recording, true)
  }
  // Members of an item that has moved are gone from where they were, too.
  const left = gone.flatMap(({ calendarKey }) => formerKeys.map(key => ({ calendarKey, key })))
  await markPlaces(unit, accountId, calendars, [...placesOf({ items, gone }), ...left])
}

/** Marks the items of a write, so that the provider is asked about them. */
export async function markWritten(
  unit: UnitOfWork,
  accountId: string,
  written: WrittenEvents,
): Promise<void> {
  const calendars = await listCalendars(unit.sql, accountId)
  await markPlaces(unit, accountId, calendars, [...placesOf(written), written.place])
}

/** The places that a write has touched. */
export const placesOf = ({ items, gone }: Pick<WrittenEvents, 'items' | 'gone'>): ItemPlace[] => [
  ...items.map(({ calendarKey, object }) => ({ calendarKey, key: object.key })),
  ...gone,
]

async function markPlaces(
  unit: UnitOfWork,
  accountId: string,
  calendars: readonly IndexedCalendar[],
  touched: readonly ItemPlace[],
): Promise<void> {
  for (const [calendarKey, places] of Map.groupBy(touched, one => one.calendarKey)) {
    const calendarId = calendars.find(({ provider_key: key }) => key === calendarKey)?.id
    const keys = places.map(({ key }) => key).filter(isStorableKey)
    if (calendarId !== undefined) await recordMarks(unit, accountId, calendarId, keys)
  }
}

/** Records a write, and answers one event of the index after it. Refuses if that was deleted meanwhile, and announced so. */
export async function recordAnswered(
  unit: UnitOfWork,
  locked: LockedCalendars,
  written: WrittenEvents,
  {
    itemId,
    answerId,
    ...recording
  }: RecordingWritten & {
    /** The single or series that was written; null: it is new. */
    itemId: string | null
    /** Null: what is at the place of the write. */
    answerId: string | null
  },
): Promise<CalendarEventWithBody> {
  const { id: accountId } = locked.account
  if (itemId !== null && !(await hasItem(unit.sql, accountId, itemId))) refuse('calendar_event_not_found')
  await recordWritten(unit, locked, written, recording)
  const id = answerId ?? (await findItemId(unit.sql, accountId, written.place))
  return (await findWritten(unit.sql, accountId, id)) ?? refuse('provider_conflict')
}

/** Records a response. An event that has left its calendar by it is answered as it last was. */
export async function recordResponse(
  unit: UnitOfWork,
  locked: LockedCalendars,
  written: WrittenEvents,
  options: Parameters<typeof recordAnswered>[3] & { response: EventResponse['response'] },
): Promise<CalendarEventWithBody> {
  const { response, ...recording } = options
  const { place } = written
  const hasLeft = written.gone.some(
    ({ calendarKey, key }) => calendarKey === place.calendarKey && key === place.key,
  )
  if (!hasLeft) return recordAnswered(unit, locked, written, recording)
  const event = await recordAnswered(unit, locked, { ...written, gone: [] }, recording)
  await recordWritten(unit, locked, { ...written, items: [] }, recording)
  return { ...event, selfResponse: response }
}

/** The keys that members of a series have of their own. */
async function listMemberKeys(unit: UnitOfWork, seriesId: string): Promise<string[]> {
  const { rows } = await sql<{ key: string }>`
    select provider_key as key from calendar_event where series_id = ${seriesId} and provider_key is not null
    union all
    select provider_key from calendar_taken where series_id = ${seriesId} and provider_key is not null
  `.execute(unit.sql)
  return rows.map(({ key }) => key)
}

/** The id of the single or series at a place; null if the index has none there. */
async function findItemId(
  db: Db,
  accountId: string,
  { calendarKey, key }: ItemPlace,
): Promise<string | null> {
  const { rows } = await sql<{ id: string }>`
    select calendar_event.id from calendar_event join calendar on calendar.id = calendar_event.calendar_id
    where calendar.account_id = ${accountId} and calendar.provider_key = ${calendarKey} and not calendar.is_ending
      and calendar_event.provider_key = ${key} and calendar_event.kind <> 'exception'
  `.execute(db)
  return rows[0]?.id ?? null
}

/** Whether the index has an item, whatever is known of it. */
async function hasItem(db: Db, accountId: string, id: string): Promise<boolean> {
  const { rows } = await sql`
    select from calendar_event where account_id = ${accountId} and id = ${id}
  `.execute(db)
  return rows.length > 0
}

/** An event of any time as it was just written, with its body. */
export async function findWritten(
  db: Db,
  accountId: string,
  id: string | null,
): Promise<CalendarEventWithBody | null> {
  const found = id === null ? null : await findEvent(db, { accountId, id, from: new Date(0) })
  return found && { ...found.event, body: await findBody(db, found.rowId) }
}
