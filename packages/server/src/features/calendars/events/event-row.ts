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
  recurrence: string[] | null
  cancelled_starts: string[] | null
  /** As text; `infinity`: never. */
  ends_at: string
  updated_at: Date
  /** The series of an exception, if more of it is known than its exceptions. */
  shown_series_id: string | null
  /** The zone in which whole days and floating times of its calendar lie. */
  unzoned: string
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
  'recurrence',
  'cancelled_starts',
  'updated_at',
] as const

/** The zone in which whole days and floating times of a calendar lie: its own, else that of the primary one, else UTC. */
export const unzonedOf = (calendarId: RawBuilder<unknown>): RawBuilder<string> => sql<string>`(
  select coalesce(own.time_zone, (
    select main.time_zone from calendar as main where main.account_id = own.account_id and main.is_primary limit 1), 'UTC')
  from calendar as own where own.id = ${calendarId})`

/** The columns of `EventRow`, of a statement that reads or writes `calendar_event`. */
export const eventColumns: RawBuilder<EventRow> = sql`${sql.raw(
  NAMES.map(name => `calendar_event.${name}`).join(', '),
)}, calendar_event.ends_at::text as ends_at,
  (select series.id from calendar_event as series
    where series.id = calendar_event.series_id and series.shown is not null) as shown_series_id,
  ${unzonedOf(sql`calendar_event.calendar_id`)} as unzoned`
