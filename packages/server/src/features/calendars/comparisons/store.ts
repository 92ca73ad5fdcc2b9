import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { Comparison } from '../../mail/comparisons/rules.ts'

/** The last comparison of a calendar. */
export interface CalendarComparison extends Comparison {
  calendarId: string
}

/** The last comparison of every calendar of the account. */
export async function findCalendarComparisons(db: Db, accountId: string): Promise<CalendarComparison[]> {
  const { rows } = await sql<CalendarComparison>`
    select calendar.id as "calendarId", compared_at as "comparedAt",
      coalesce(listed, 0) as listed, coalesce(indexed, 0) as indexed, coalesce(missing, 0) as missing,
      coalesce(extra, 0) as extra, coalesce(changed, 0) as changed, coalesce(repaired, 0) as repaired,
      coalesce(stuck_hours, 0) as "stuckHours", false as "isDoubtful"
    from calendar left join calendar_comparison on calendar_id = calendar.id
    where calendar.account_id = ${accountId} and not is_ending order by is_primary desc, position, calendar.id
  `.execute(db)
  return rows
}

export interface ComparisonSchedule {
  /** Calendars that are to be compared now. */
  dueIds: Set<string>
  /** Whether a calendar has no comparison planned. */
  isIncomplete: boolean
  /** Whether what is marked of the half is not what the comparisons say. */
  isStale: boolean
}

export async function findSchedule(db: Db, accountId: string): Promise<ComparisonSchedule> {
  const { rows } = await sql<{ id: string | null; isDue: boolean | null; open: number; differs: boolean }>`
    select calendar.id,
      -- A time that was set in the future counts from now on: the clock was set back since.
      due_at <= greatest(clock_timestamp(), due_set_at) as "isDue",
      coalesce(missing + extra + changed, 0) as open, half.differs_since is not null as differs
    from account_half as half
    left join calendar on calendar.account_id = half.account_id and is_complete and not is_ending
    left join calendar_comparison on calendar_id = calendar.id
    where half.account_id = ${accountId} and half.kind = 'calendar'
  `.execute(db)
  const isOpen = rows.some(({ open }) => open > 0)
  return {
    dueIds: new Set(rows.flatMap(({ id, isDue }) => (id !== null && isDue === true ? [id] : []))),
    isIncomplete: rows.some(({ id, isDue }) => id !== null && isDue === null),
    isStale: rows.some(({ differs }) => differs !== isOpen),
  }
}

/** The versions that the index has of a calendar, by key, without what could not be read. */
export async function loadVersions(db: Db, calendarId: string): Promise<Map<string, string>> {
  const { rows } = await sql<{ key: string; version: string }>`
    select provider_key as key, version from calendar_event
    where calendar_id = ${calendarId} and provider_key is not null and version is not null and missing_look is null
    union all
    select taken.provider_key, taken.version
    from calendar_event as series join calendar_taken as taken on taken.series_id = series.id
    where series.calendar_id = ${calendarId} and taken.provider_key is not null and taken.version is not null
  `.execute(db)
  return new Map(rows.map(({ key, version }) => [key, version]))
}

/** Digests of events and members by their keys. The digest of a series is one of its exceptions, too. */
export async function digestEvents(
  db: Db,
  calendarId: string,
  keys: readonly string[],
): Promise<Map<string, string>> {
  const { rows } = await sql<{ key: string; digest: string }>`
    select event.provider_key as key, md5(string_agg(concat_ws(' ', part.id, part.shown, part.start_at, part.end_at,
      part.recurrence, part.cancelled_starts, body.content_type, body.content), ' ' order by part.id)) as digest
    from calendar_event as event
    join calendar_event as part on part.id = event.id or part.series_id = event.id
    left join calendar_event_body as body on body.event_id = part.id
    where event.calendar_id = ${calendarId} and event.provider_key = any(${[...keys]}::text[])
    group by event.provider_key
  `.execute(db)
  return new Map(rows.map(({ key, digest }) => [key, digest]))
}
