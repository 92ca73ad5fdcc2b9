import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import { type RawBuilder, sql } from 'kysely'
import { rowsToRead } from '../../../database/page.ts'
import type { Db } from '../../../database/pool.ts'
import type { CalendarWindow } from '../../../providers/calendars.ts'
import { endedCalendars } from '../calendars/store.ts'
import { type EventRow, eventColumns } from './event-row.ts'
import type { EventBody } from './item.ts'
import { presentEvent, presentOccurrence } from './present.ts'

/** The time of a single, exception or occurrence. */
interface SpanTimes {
  span_id: string
  span_start_at: Date
  span_end_at: Date
  start_wall: string
  end_wall: string
}

/** A span with the row that it is presented from. */
export interface ListedSpan {
  span: SpanTimes
  event: EventRow
}

/** A page of a list. */
export interface SpansPage {
  listed: ListedSpan[]
  hasMore: boolean
}

/** Bytes of events in one page, so that no page keeps the event loop. A page has at least one entry. */
const PAGE_BYTES_MAX = 4 * 1024 * 1024

/** The position in a list. The next page starts after it. */
export interface ByStart {
  /** ISO 8601 with milliseconds. */
  startAt: string
  id: string
}

export interface EventsRange extends CalendarWindow {
  calendarId: string | undefined
}

const SPAN_COLUMNS = sql`span.id as span_id, span.start_at as span_start_at,
  span.end_at as span_end_at, span.start_wall, span.end_wall`

/**
 * Lists a page of what takes place in a range. Nearly all of it begins in the range, or at most a day before; only what is
 * longer is looked for by its end. A series is read once for all its spans of the page.
 */
export async function listSpans(
  db: Db,
  accountId: string,
  { range, position, limit }: { range: EventsRange; position: ByStart | null; limit: number },
): Promise<SpansPage> {
  const { start, end, calendarId } = range
  const conditions: RawBuilder<unknown>[] = [
    sql`span.account_id = ${accountId}`,
    sql`span.start_at < ${end}`,
    sql`span.calendar_id <> all(${endedCalendars(accountId)})`,
  ]
  if (calendarId !== undefined) conditions.push(sql`span.calendar_id = ${calendarId}`)
  if (position)
    conditions.push(sql`(span.start_at, span.id) > (${position.startAt}::timestamptz, ${position.id}::uuid)`)
  const where = sql.join(conditions, sql` and `)
  const dayBefore = sql`${start}::timestamptz - interval '24 hours'`
  const order = sql`order by span.start_at, span.id`
  const rest = sql`${order} limit ${rowsToRead(limit)}`
  const { rows } = await sql<SpanTimes & { event_id: string; listed: number } & (EventRow | { id: null })>`
    with page as materialized (
      select span.*, row_number() over (partition by span.event_id ${order}) as nth from (
        (select span.* from calendar_span as span
          where ${where} and span.start_at >= ${dayBefore} and (span.end_at > ${start} or span.start_at >= ${start}) ${rest})
        union all
        (select span.* from calendar_span as span
          where ${where} and span.start_at < ${dayBefore} and span.is_long and span.end_at > ${start} ${rest})
      ) as span ${rest}
    ), sized as materialized (
      select page.event_id, coalesce(octet_length(event.shown::text), 0) as bytes
      from page join calendar_event as event on event.id = page.event_id where page.nth = 1
    ), span as (
      select page.*, bytes, count(*) over () as listed, sum(bytes) over (order by start_at, page.id) as bytes_so_far
      from page join sized on sized.event_id = page.event_id
    )
    select ${SPAN_COLUMNS}, span.event_id, span.listed::int, ${eventColumns}
    from span left join calendar_event on calendar_event.id = span.event_id and span.nth = 1
    where span.bytes_so_far - span.bytes < ${PAGE_BYTES_MAX} ${order}
  `.execute(db)
  const events = new Map<string, EventRow>()
  const listed = rows.slice(0, limit).flatMap((row): ListedSpan[] => {
    // Only the first span of an event has its columns.
    if (row.id !== null) events.set(row.event_id, row)
    const event = events.get(row.event_id)
    return event ? [{ span: row, event }] : []
  })
  return { listed, hasMore: (rows[0]?.listed ?? 0) > listed.length }
}

/** An event of any kind, as far as it reaches into the window or lies after it. */
export async function findEvent(
  db: Db,
  { accountId, id, from }: { accountId: string; id: string; from: Date },
): Promise<{ event: CalendarEvent; rowId: string } | null> {
  const { rows } = await sql<EventRow>`
    select ${eventColumns} from calendar_event
    where calendar_event.account_id = ${accountId} and calendar_event.id = ${id} and calendar_event.ends_at >= ${from}
      and calendar_event.calendar_id <> all(${endedCalendars(accountId)})
  `.execute(db)
  const event = rows[0] ? presentEvent(rows[0]) : null
  if (event) return { event, rowId: id }
  const { rows: spans } = await sql<SpanTimes & EventRow>`
    select ${SPAN_COLUMNS}, ${eventColumns}
    from calendar_span as span join calendar_event on calendar_event.id = span.event_id
    where span.account_id = ${accountId} and span.id = ${id} and span.end_at >= ${from}
      and span.calendar_id <> all(${endedCalendars(accountId)})
  `.execute(db)
  const [span] = spans
  const occurrence = span && presentSpan({ span, event: span })
  return occurrence ? { event: occurrence, rowId: span.id } : null
}

export async function findBody(db: Db, rowId: string): Promise<EventBody | null> {
  const { rows } = await sql<EventBody>`
    select content_type as "contentType", content from calendar_event_body where event_id = ${rowId}
  `.execute(db)
  return rows[0] ?? null
}

/** The single, exception or occurrence of a span, as it is shown. */
export function presentSpan({ span, event }: ListedSpan): CalendarEvent | null {
  if (event.kind !== 'series') return presentEvent(event)
  const { span_id: id, span_start_at: startAt, span_end_at: endAt, start_wall, end_wall } = span
  return event.shown && presentOccurrence(event, event.shown, { id, startAt, endAt, start_wall, end_wall })
}

/**
 * The versions that the index has of a calendar, by key. Events that could not be read are among them, unless that was
 * tried by an older reader.
 */
export async function loadKnownVersions(
  db: Db,
  calendarId: string,
  readerVersion: number,
): Promise<Map<string, string>> {
  const { rows } = await sql<{ key: string; version: string }>`
    select provider_key as key, version, 1 as nth from calendar_event
    where calendar_id = ${calendarId} and provider_key is not null and version is not null and missing_look is null
    union all
    select taken.provider_key, taken.version, 2
    from calendar_event as series join calendar_taken as taken on taken.series_id = series.id
    where series.calendar_id = ${calendarId} and taken.provider_key is not null and taken.version is not null
    union all
    select provider_key, version, 3 from quarantined_calendar_event
    where calendar_id = ${calendarId} and version is not null and reader_version >= ${readerVersion}
    order by nth
  `.execute(db)
  // An event that became unreadable is there twice, and its later version counts.
  return new Map(rows.map(({ key, version }) => [key, version]))
}

/** The singles and series of a calendar, those of which only exceptions are known among them. */
export async function countItems(db: Db, calendarId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from calendar_event where calendar_id = ${calendarId} and kind <> 'exception' and missing_look is null
  `.execute(db)
  return rows[0]?.count ?? 0
}
