import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { isStorableKey } from '../../../kit/storable.ts'
import { type EventRow, eventColumns } from './event-row.ts'
import { type ItemEvent, type ItemState } from './item.ts'

/** An item of the index. */
export interface HeldItem {
  root: EventRow
  /** By member. */
  exceptions: Map<string, EventRow>
  state: ItemState
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
  const ids = roots.map(({ id }) => id)
  const { rows: exceptions } = await sql<EventRow>`
    select ${eventColumns} from calendar_event where series_id = any(${ids}::uuid[]) order by series_id, member
  `.execute(unit.sql)
  const { rows: taken } = await sql<TakenRow>`
    select series_id, member, provider_key, version from calendar_taken where series_id = any(${ids}::uuid[])
    order by series_id, member
  `.execute(unit.sql)
  const exceptionsOf = Map.groupBy(exceptions, row => row.series_id)
  const takenOf = Map.groupBy(taken, row => row.series_id)
  return new Map(
    roots.map(root => [
      root.provider_key ?? '',
      heldItem(root, exceptionsOf.get(root.id) ?? [], takenOf.get(root.id) ?? []),
    ]),
  )
}

function heldItem(root: EventRow, exceptions: readonly EventRow[], taken: readonly TakenRow[]): HeldItem {
  return {
    root,
    exceptions: new Map(exceptions.map(row => [row.member ?? '', row])),
    state: {
      uid: root.uid,
      version: root.version,
      event: eventOf(root),
      recurrence: root.recurrence,
      occurrences: null,
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
