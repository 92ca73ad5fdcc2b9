import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { isStorableKey } from '../../../kit/storable.ts'
import { type EventRow, eventColumns } from './event-row.ts'
import type { RemoteOccurrence } from '../../../providers/calendars.ts'
import type { ItemEvent, ItemState } from './item.ts'

/** An item of the index. */
export interface HeldItem {
  root: EventRow
  /** By member. */
  exceptions: Map<string, EventRow>
  state: ItemState
}

/** An item that is written. */
export interface WrittenItem {
  /** The id of the single or the series. */
  id: string
  key: string
  before: HeldItem | null
  state: ItemState
}

interface OccurrenceRow {
  root_id: string
  member: string
  provider_key: string
  start_wall: string
  end_wall: string
}

interface TakenRow {
  series_id: string
  member: string
  provider_key: string | null
  version: string | null
}

/** The items of a calendar with these keys, and those with members of these keys, by the item's key. */
export async function loadItems(
  unit: UnitOfWork,
  calendarId: string,
  keys: readonly string[],
): Promise<Map<string, HeldItem>> {
  const wanted = [...new Set(keys)].filter(isStorableKey)
  const ofKeys = sql`calendar_id = ${calendarId} and provider_key = any(${wanted}::text[])`
  const { rows: roots } = await sql<EventRow>`
    select ${eventColumns} from calendar_event where kind <> 'exception' and id in (
      select coalesce(series_id, id) from calendar_event where ${ofKeys}
      union all
      select calendar_taken.series_id from calendar_taken join calendar_event as series on series.id = calendar_taken.series_id
      where series.calendar_id = ${calendarId} and calendar_taken.provider_key = any(${wanted}::text[]))
    order by id
  `.execute(unit.sql)
  const items = await completeItems(unit, roots)
  return new Map(items.map(item => [item.root.provider_key ?? '', item]))
}

/** The items of an account with these ids. */
export async function loadItemsById(
  unit: UnitOfWork,
  accountId: string,
  ids: readonly string[],
): Promise<HeldItem[]> {
  const { rows: roots } = await sql<EventRow>`
    select ${eventColumns} from calendar_event
    where account_id = ${accountId} and id = any(${[...ids]}::uuid[]) and kind <> 'exception' order by id
  `.execute(unit.sql)
  return completeItems(unit, roots)
}

async function completeItems(unit: UnitOfWork, roots: readonly EventRow[]): Promise<HeldItem[]> {
  const ids = roots.map(({ id }) => id)
  const { rows: exceptions } = await sql<EventRow>`
    select ${eventColumns} from calendar_event where series_id = any(${ids}::uuid[]) order by series_id, member
  `.execute(unit.sql)
  const { rows: taken } = await sql<TakenRow>`
    select series_id, member, provider_key, version from calendar_taken where series_id = any(${ids}::uuid[])
    order by series_id, member
  `.execute(unit.sql)
  const occurrencesOf = await loadOccurrences(
    unit,
    roots.filter(root => root.is_expanded),
  )
  const exceptionsOf = Map.groupBy(exceptions, row => row.series_id)
  const takenOf = Map.groupBy(taken, row => row.series_id)
  return roots.map(root =>
    heldItem(root, {
      exceptions: exceptionsOf.get(root.id) ?? [],
      taken: takenOf.get(root.id) ?? [],
      occurrences: root.is_expanded ? (occurrencesOf.get(root.id) ?? []) : null,
    }),
  )
}

/** The occurrences that the provider gave of series, by series. */
async function loadOccurrences(
  unit: UnitOfWork,
  series: readonly EventRow[],
): Promise<Map<string, RemoteOccurrence[]>> {
  if (series.length === 0) return new Map()
  const { rows } = await sql<OccurrenceRow>`
    select root_id, member, provider_key, start_wall, end_wall from calendar_span
    where root_id = any(${series.map(({ id }) => id)}::uuid[]) and member is not null order by root_id, member collate "C"
  `.execute(unit.sql)
  const shownOf = new Map(series.map(({ id, shown }) => [id, shown]))
  const present = ({ root_id: id, member, provider_key: key, start_wall, end_wall }: OccurrenceRow) => {
    const shown = shownOf.get(id)
    const start = { wall: start_wall, zone: shown?.start.zone ?? null }
    return { member, key, start, end: { wall: end_wall, zone: shown?.end.zone ?? null } }
  }
  const rowsOf = Map.groupBy(rows, row => row.root_id)
  return new Map([...rowsOf].map(([id, own]) => [id, own.map(present)]))
}

interface ItemRows {
  exceptions: readonly EventRow[]
  taken: readonly TakenRow[]
  occurrences: readonly RemoteOccurrence[] | null
}

function heldItem(root: EventRow, { exceptions, taken, occurrences }: ItemRows): HeldItem {
  return {
    root,
    exceptions: new Map(exceptions.map(row => [row.member ?? '', row])),
    state: {
      uid: root.uid,
      version: root.version,
      event: eventOf(root),
      recurrence: root.recurrence,
      occurrences,
      exceptions: new Map(
        exceptions.flatMap(row => {
          const event = eventOf(row)
          const { provider_key: key, version } = row
          return event ? [[row.member ?? '', { key, version, ...event }] as const] : []
        }),
      ),
      taken: new Map(taken.map(({ member, provider_key: key, version }) => [member, { key, version }])),
    },
  }
}

function eventOf({ shown, updated_at }: EventRow): Omit<ItemEvent, 'key' | 'version'> | null {
  return shown && { shown, body: undefined, updatedAt: updated_at }
}
