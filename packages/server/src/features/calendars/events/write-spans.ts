import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import type { CalendarAccount } from '../calendars/rules.ts'
import type { WrittenItem } from './load-items.ts'
import type { RecordingEvents } from './recording.ts'
import type { ItemSpans, Span } from './spans.ts'

/** Spans that one statement writes, so that no statement keeps the event loop. */
export const SPANS_AT_ONCE = 1_000

export interface PlannedItem {
  item: WrittenItem
  spans: ItemSpans
}

/** Writes the spans of items that are new or differ, and deletes the others that the items had. */
export async function writeSpans(
  unit: UnitOfWork,
  account: CalendarAccount,
  { calendarId }: RecordingEvents,
  planned: readonly PlannedItem[],
): Promise<void> {
  const rows = planned.flatMap(({ spans }) => spans.spans)
  await insertSpans(unit, account, calendarId, rows)
  const known = planned.filter(({ item }) => item.before !== null).map(({ item }) => item.id)
  if (known.length === 0) return
  await sql`
    delete from calendar_span where root_id = any(${known}::uuid[])
      and not exists (select from unnest(${rows.map(({ id }) => id)}::uuid[]) as kept (id) where kept.id = calendar_span.id)
  `.execute(unit.sql)
}

/** Writes spans. Spans that stay as they are are not written. */
export async function insertSpans(
  unit: UnitOfWork,
  account: CalendarAccount,
  calendarId: string,
  rows: readonly Span[],
): Promise<void> {
  for (let from = 0; from < rows.length; from += SPANS_AT_ONCE) {
    const some = rows.slice(from, from + SPANS_AT_ONCE)
    await sql`
      insert into calendar_span (id, account_id, calendar_id, root_id, event_id, start_at, end_at, start_wall, end_wall,
        member, provider_key, is_busy, is_long)
      select id, ${account.id}::uuid, ${calendarId}::uuid, root_id, event_id, start_at, end_at, start_wall, end_wall,
        member, provider_key, is_busy, is_long
      from json_to_recordset(${JSON.stringify(some)}::json) as next (id uuid, root_id uuid, event_id uuid,
        start_at timestamptz, end_at timestamptz, start_wall text, end_wall text, member text, provider_key text,
        is_busy boolean, is_long boolean)
      on conflict (id) do update set calendar_id = excluded.calendar_id, root_id = excluded.root_id,
        event_id = excluded.event_id, start_at = excluded.start_at, end_at = excluded.end_at,
        start_wall = excluded.start_wall, end_wall = excluded.end_wall, member = excluded.member,
        provider_key = excluded.provider_key, is_busy = excluded.is_busy, is_long = excluded.is_long
      where (calendar_span.calendar_id, calendar_span.root_id, calendar_span.event_id, calendar_span.start_at,
          calendar_span.end_at, calendar_span.start_wall, calendar_span.end_wall, calendar_span.member,
          calendar_span.provider_key, calendar_span.is_busy, calendar_span.is_long)
        is distinct from (excluded.calendar_id, excluded.root_id, excluded.event_id, excluded.start_at,
          excluded.end_at, excluded.start_wall, excluded.end_wall, excluded.member,
          excluded.provider_key, excluded.is_busy, excluded.is_long)
    `.execute(unit.sql)
  }
}
