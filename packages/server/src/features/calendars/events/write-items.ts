import { sql } from 'kysely'
import { isDeepStrictEqual } from 'node:util'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { KEY_BYTES_MAX, isStorableKey, storable } from '../../../kit/storable.ts'
import type { CalendarAccount } from '../calendars/rules.ts'
import { type EventRow, eventColumns } from './event-row.ts'
import type { EventBody, ItemEvent, ItemState } from './item.ts'
import type { HeldItem } from './load-items.ts'
import type { RecordingEvents } from './recording.ts'
import { instantOf, type ItemSpans, memberId, memberInstant, type Span, spansOf } from './spans.ts'
import type { ShownEvent } from './shown.ts'

/** An item that is written. */
export interface WrittenItem {
  /** Of its single or series. */
  id: string
  key: string
  before: HeldItem | null
  state: ItemState
}

interface EventColumns {
  id: string
  kind: EventRow['kind']
  provider_key: string | null
  version: string | null
  uid: string | null
  series_id: string | null
  member: string | null
  original_at: string | null
  shown: ShownEvent | null
  recurrence: readonly string[] | null
  cancelled_starts: readonly string[] | null
  ends_at: string
  /** Null: now. */
  updated_at: string | null
}

const COLUMNS =
  sql.raw(`(id uuid, kind text, provider_key text, version text, uid text, series_id uuid, member text,
  original_at timestamptz, shown jsonb, recurrence jsonb, cancelled_starts jsonb, ends_at timestamptz,
  updated_at timestamptz)`)

/** Whether the index has an item so already. */
export function isSameItem({ state: before }: HeldItem, state: ItemState): boolean {
  return isDeepStrictEqual(comparedItem(before), comparedItem(state)) && state.occurrences === null
}

/** A body comes with its version. */
function comparedItem({ uid, version, event, recurrence, exceptions, taken }: ItemState) {
  const compared = [...exceptions].map(([member, one]) => [member, one.key, one.version, one.shown] as const)
  return {
    uid: uid === null ? null : storedUid(uid),
    version,
    shown: event?.shown ?? null,
    recurrence,
    exceptions: new Map(compared.map(([member, ...rest]) => [member, rest])),
    taken,
  }
}

const storedUid = (uid: string) => (Buffer.byteLength(uid) <= KEY_BYTES_MAX ? storable(uid) : null)

/** Writes items with their spans. */
export async function writeItems(
  unit: UnitOfWork,
  account: CalendarAccount,
  written: readonly WrittenItem[],
  options: RecordingEvents,
): Promise<void> {
  if (written.length === 0) return
  const planned = written.map(item => ({ item, ...spansOf(item.id, item.state, options) }))
  const events = planned.flatMap(({ item, ...spans }) => eventsOf(item, spans, options.unzoned))
  await deleteFormer(unit, written)
  await sql`
    insert into calendar_event (id, tenant_id, account_id, calendar_id, kind, provider_key, version, uid, series_id, member,
      original_at, shown, recurrence, cancelled_starts, ends_at, updated_at)
    select id, ${account.tenantId}::uuid, ${account.id}::uuid, ${options.calendarId}::uuid, kind, provider_key, version,
      uid, series_id, member, original_at, shown, recurrence, cancelled_starts, ends_at,
      coalesce(updated_at, clock_timestamp())
    from json_to_recordset(${JSON.stringify(events.map(({ columns }) => columns))}::json) as next ${COLUMNS}
    on conflict (id) do update set calendar_id = excluded.calendar_id, kind = excluded.kind,
      provider_key = excluded.provider_key, version = excluded.version, uid = excluded.uid,
      original_at = excluded.original_at, shown = excluded.shown, recurrence = excluded.recurrence,
      cancelled_starts = excluded.cancelled_starts, ends_at = excluded.ends_at, updated_at = excluded.updated_at
  `.execute(unit.sql)
  await writeBodies(
    unit,
    account,
    events.flatMap(({ columns, body }) => (body === undefined ? [] : [{ id: columns.id, body }])),
  )
  await writeTaken(unit, account, written)
  await writeSpans(unit, account, options, planned)
}

/** Deletes items with all that belongs to them. */
export async function deleteItems(unit: UnitOfWork, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await sql`delete from calendar_event where id = any(${[...ids]}::uuid[])`.execute(unit.sql)
}

/** The rows of items, by the id of the item: its single or series first. */
export async function readEvents(unit: UnitOfWork, ids: readonly string[]): Promise<Map<string, EventRow[]>> {
  if (ids.length === 0) return new Map()
  const { rows } = await sql<EventRow>`
    select ${eventColumns} from calendar_event
    where id = any(${[...ids]}::uuid[]) or series_id = any(${[...ids]}::uuid[])
    order by member nulls first
  `.execute(unit.sql)
  return Map.groupBy(rows, row => row.series_id ?? row.id)
}

/** Exceptions that are none any more, spans, and members that were taken. */
async function deleteFormer(unit: UnitOfWork, written: readonly WrittenItem[]): Promise<void> {
  const known = written.filter(({ before }) => before !== null)
  const ids = known.map(({ id }) => id)
  if (ids.length === 0) return
  const gone = known.flatMap(({ before, state }) =>
    [...(before?.exceptions ?? [])].flatMap(([member, { id }]) => (state.exceptions.has(member) ? [] : [id])),
  )
  await sql`delete from calendar_span where root_id = any(${ids}::uuid[])`.execute(unit.sql)
  await sql`delete from calendar_taken where series_id = any(${ids}::uuid[])`.execute(unit.sql)
  await deleteItems(unit, gone)
}

function eventsOf({ id, key, before, state }: WrittenItem, spans: ItemSpans, unzoned: string) {
  const isSeries = state.recurrence !== null
  const root: EventColumns = {
    ...NO_MEMBER,
    id,
    kind: isSeries ? 'series' : 'single',
    provider_key: key,
    version: state.version,
    uid: state.uid === null ? null : storedUid(state.uid),
    shown: state.event?.shown ?? null,
    recurrence: state.recurrence,
    cancelled_starts: spans.cancelledStarts,
    ends_at: spans.endsAt?.toISOString() ?? 'infinity',
    updated_at: updatedAt(state.event, before?.root),
  }
  const rows: Array<{ columns: EventColumns; body: EventBody | null | undefined }> = [
    { columns: root, body: state.event?.body },
  ]
  for (const [member, exception] of state.exceptions) {
    const start = state.event?.shown.start ?? exception.shown.start
    const held = before?.exceptions.get(member)
    const columns: EventColumns = {
      id: memberId(id, member),
      kind: 'exception',
      provider_key: exception.key !== null && isStorableKey(exception.key) ? exception.key : null,
      version: exception.version,
      uid: null,
      series_id: id,
      member,
      original_at: memberInstant(member, start, unzoned).toISOString(),
      shown: exception.shown,
      recurrence: null,
      cancelled_starts: null,
      ends_at: new Date(instantOf(exception.shown.end, unzoned)).toISOString(),
      updated_at: updatedAt(exception, held),
    }
    rows.push({ columns, body: exception.body })
  }
  return rows
}

const NO_MEMBER = { series_id: null, member: null, original_at: null }

function updatedAt(
  event: Pick<ItemEvent, 'shown' | 'updatedAt'> | null,
  before: EventRow | undefined,
): string | null {
  if (event?.updatedAt) return event.updatedAt.toISOString()
  return before && isDeepStrictEqual(before.shown, event?.shown ?? null)
    ? before.updated_at.toISOString()
    : null
}

async function writeBodies(
  unit: UnitOfWork,
  account: CalendarAccount,
  bodies: ReadonlyArray<{ id: string; body: EventBody | null }>,
): Promise<void> {
  const gone = bodies.flatMap(({ id, body }) => (body === null ? [id] : []))
  const rows = bodies.flatMap(({ id, body }) => (body === null ? [] : [{ id, ...body }]))
  if (gone.length > 0)
    await sql`delete from calendar_event_body where event_id = any(${gone}::uuid[])`.execute(unit.sql)
  if (rows.length === 0) return
  await sql`
    insert into calendar_event_body (event_id, account_id, content_type, content)
    select id, ${account.id}::uuid, "contentType", content
    from json_to_recordset(${JSON.stringify(rows)}::json) as next (id uuid, "contentType" text, content text)
    on conflict (event_id) do update set content_type = excluded.content_type, content = excluded.content
  `.execute(unit.sql)
}

async function writeTaken(
  unit: UnitOfWork,
  account: CalendarAccount,
  written: readonly WrittenItem[],
): Promise<void> {
  const rows = written.flatMap(({ id, state }) =>
    [...state.taken].map(([member, { key, version }]) => ({ id, member, key, version })),
  )
  if (rows.length === 0) return
  await sql`
    insert into calendar_taken (series_id, account_id, member, provider_key, version)
    select id, ${account.id}::uuid, member, key, version
    from json_to_recordset(${JSON.stringify(rows)}::json) as next (id uuid, member text, key text, version text)
  `.execute(unit.sql)
}

async function writeSpans(
  unit: UnitOfWork,
  account: CalendarAccount,
  { calendarId }: RecordingEvents,
  planned: ReadonlyArray<{ item: WrittenItem; spans: readonly Span[] }>,
): Promise<void> {
  const rows = planned.flatMap(({ item, spans }) => spans.map(span => ({ root_id: item.id, ...span })))
  if (rows.length === 0) return
  await sql`
    insert into calendar_span (id, account_id, calendar_id, root_id, event_id, start_at, end_at, start_wall, end_wall,
      is_busy, is_long)
    select id, ${account.id}::uuid, ${calendarId}::uuid, root_id, event_id, start_at, end_at, start_wall, end_wall,
      is_busy, is_long
    from json_to_recordset(${JSON.stringify(rows)}::json) as next (id uuid, root_id uuid, event_id uuid,
      start_at timestamptz, end_at timestamptz, start_wall text, end_wall text, is_busy boolean, is_long boolean)
  `.execute(unit.sql)
}
