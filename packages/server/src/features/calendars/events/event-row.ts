import { type RawBuilder, sql } from 'kysely'
import type { ShownEvent } from './shown.ts'

/** Columns of an event with everything that the interface shows but its body; select them with `eventColumns`. */
export interface EventRow {
  id: string
  calendar_id: string
  kind: 'single' | 'series' | 'exception'
  provider_key: string | null
  version: string | null
  uid: string | null
  series_id: string | null
  member: string | null
  original_at: Date | null
  shown: ShownEvent | null
  /** The instants of its start and end. */
  start_at: Date | null
  end_at: Date | null
  recurrence: string[] | null
  cancelled_starts: string[] | null
  is_expanded: boolean
  is_truncated: boolean
  /** Null: it goes on after `spanned_until`. */
  ends_at: Date | null
  spanned_until: Date | null
  zone_release: string | null
  updated_at: Date
  /** The series of an exception, if more of it is known than its exceptions. */
  shown_series_id: string | null
}

const NAMES = [
  'id',
  'calendar_id',
  'kind',
  'provider_key',
  'version',
  'uid',
  'series_id',
  'member',
  'original_at',
  'shown',
  'start_at',
  'end_at',
  'recurrence',
  'cancelled_starts',
  'is_expanded',
  'is_truncated',
  'spanned_until',
  'zone_release',
  'updated_at',
] as const

/** The columns of `EventRow`, of a statement that reads or writes `calendar_event`. */
export const eventColumns: RawBuilder<EventRow> = sql`${sql.raw(
  NAMES.map(name => `calendar_event.${name}`).join(', '),
)}, nullif(calendar_event.ends_at, 'infinity') as ends_at,
  (select series.id from calendar_event as series
    where series.id = calendar_event.series_id and series.shown is not null) as shown_series_id`
