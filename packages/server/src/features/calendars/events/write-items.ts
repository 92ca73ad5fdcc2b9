import { sql } from 'kysely'
import { isDeepStrictEqual } from 'node:util'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { KEY_BYTES_MAX, isStorableKey, storable } from '../../../kit/storable.ts'
import type { Steps } from '../../../kit/sliced-work.ts'
import { ZONE_DATA_RELEASE } from '../../../kit/zones/iana-zone.ts'
import type { CalendarAccount } from '../calendars/rules.ts'
import { deleteItems } from './delete-items.ts'
import { type EventRow, eventColumns } from './event-row.ts'
import { type EventBody, type ItemEvent, type ItemState, STEP_MEMBERS } from './item.ts'
import type { WrittenItem } from './load-items.ts'
import type { RecordingEvents } from './recording.ts'
import { expansionOf, instantsOf, type ItemSpans, memberId, memberInstant } from './spans.ts'
import type { ShownEvent } from './shown.ts'
import { type PlannedItem, SPANS_AT_ONCE, writeSpans } from './write-spans.ts'

/** Events that one statement writes, so that no statement keeps the event loop. */
const EVENTS_AT_ONCE = 200

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
  start_at: string | null
  end_at: string | null
  recurrence: readonly string[] | null
  cancelled_starts: readonly string[] | null
  is_expanded: boolean
  is_truncated: boolean
  ends_at: string
  spanned_until: string | null
  zone_release: string | null
  /** Null: now. */
  updated_at: string | null
}

const COLUMNS =
  sql.raw(`(id uuid, kind text, provider_key text, version text, uid text, series_id uuid, member text,
  original_at timestamptz, shown jsonb, start_at timestamptz, end_at timestamptz, recurrence jsonb, cancelled_starts jsonb,
  is_expanded boolean, is_truncated boolean, ends_at timestamptz, spanned_until timestamptz, zone_release text,
  updated_at timestamptz)`)

/** Finds whether the index has an item so already. */
export function* sameItemSteps(before: ItemState, state: ItemState): Steps<boolean> {
  if (before.exceptions.size !== state.exceptions.size) return false
  if (!isDeepStrictEqual(comparedItem(before), comparedItem(state))) return false
  yield
  let done = 0
  for (const [member, exception] of state.exceptions) {
    const known = before.exceptions.get(member)
    if (!known || !isDeepStrictEqual(comparedException(known), comparedException(exception))) return false
    if (++done % STEP_MEMBERS === 0) yield
  }
  return true
}

/** A body comes with its version. */
const comparedItem = ({ uid, version, event, recurrence, taken, occurrences }: ItemState) => ({
  uid: uid === null ? null : storedUid(uid),
  version,
  shown: event?.shown ?? null,
  recurrence,
  taken,
  occurrences,
})

const comparedException = ({ key, version, shown }: ItemEvent) => ({ key, version, shown })

const storedUid = (uid: string) => (Buffer.byteLength(uid) <= KEY_BYTES_MAX ? storable(uid) : null)

/**
 * Writes items with their spans. New items that ended before the window are left out, unless they are to be kept.
 * @returns those that were written
 */
export async function writeItems(
  unit: UnitOfWork,
  account: CalendarAccount,
  items: readonly WrittenItem[],
  options: RecordingEvents,
): Promise<WrittenItem[]> {
  const written: WrittenItem[] = []
  const truncated: string[] = []
  let group: PlannedItem[] = []
  await options.planner.expand(items.map(({ state }) => expansionOf(state, options)))
  await deleteFormer(unit, items)
  const writeGroup = async () => {
    await writePlanned(unit, account, group, options)
    group = []
  }
  for (const item of items) {
    const spans = await options.planner.plan(item.id, item.state, options)
    const hasEnded = spans.endsAt !== null && spans.endsAt < options.window.start
    if (item.before === null && hasEnded && !options.keepsEnded) continue
    written.push(item)
    group.push({ item, spans })
    if (spans.isTruncated && !item.before?.root.is_truncated) truncated.push(item.id)
    if (group.reduce((sum, each) => sum + each.spans.spans.length, 0) >= SPANS_AT_ONCE) await writeGroup()
  }
  await writeGroup()
  options.planner.reportTruncated(truncated)
  return written
}

async function writePlanned(
  unit: UnitOfWork,
  account: CalendarAccount,
  planned: readonly PlannedItem[],
  options: RecordingEvents,
): Promise<void> {
  if (planned.length === 0) return
  const written = planned.map(({ item }) => item)
  const events = await options.planner.inSlices(eventSteps(planned, options))
  for (let from = 0; from < events.length; from += EVENTS_AT_ONCE)
    await writeEvents(unit, account, events.slice(from, from + EVENTS_AT_ONCE), options)
  await writeTaken(unit, account, written)
  await writeSpans(unit, account, options, planned)
}

async function writeEvents(
  unit: UnitOfWork,
  account: CalendarAccount,
  events: readonly WrittenEvent[],
  options: RecordingEvents,
): Promise<void> {
  await sql`
    insert into calendar_event (id, tenant_id, account_id, calendar_id, kind, provider_key, version, uid, series_id, member,
      original_at, shown, start_at, end_at, recurrence, cancelled_starts, is_expanded, is_truncated, ends_at, spanned_until,
      zone_release, updated_at)
    select id, ${account.tenantId}::uuid, ${account.id}::uuid, ${options.calendarId}::uuid, kind, provider_key, version,
      uid, series_id, member, original_at, shown, start_at, end_at, recurrence, cancelled_starts, is_expanded, is_truncated,
      ends_at, spanned_until, zone_release, coalesce(updated_at, clock_timestamp())
    from json_to_recordset(${JSON.stringify(events.map(({ columns }) => columns))}::json) as next ${COLUMNS}
    on conflict (id) do update set calendar_id = excluded.calendar_id, kind = excluded.kind,
      provider_key = excluded.provider_key, version = excluded.version, uid = excluded.uid,
      original_at = excluded.original_at, shown = excluded.shown, start_at = excluded.start_at, end_at = excluded.end_at,
      recurrence = excluded.recurrence, cancelled_starts = excluded.cancelled_starts, is_expanded = excluded.is_expanded,
      is_truncated = excluded.is_truncated, ends_at = excluded.ends_at, spanned_until = excluded.spanned_until,
      zone_release = excluded.zone_release, updated_at = excluded.updated_at
  `.execute(unit.sql)
  await writeBodies(
    unit,
    account,
    events.flatMap(({ columns, body }) => (body === undefined ? [] : [{ id: columns.id, body }])),
  )
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

/** Exceptions that are none any more, and members that were taken. */
async function deleteFormer(unit: UnitOfWork, written: readonly WrittenItem[]): Promise<void> {
  const known = written.filter(({ before }) => before !== null)
  const ids = known.map(({ id }) => id)
  if (ids.length === 0) return
  const gone = known.flatMap(({ before, state }) =>
    [...(before?.exceptions ?? [])].flatMap(([member, { id }]) => (state.exceptions.has(member) ? [] : [id])),
  )
  await sql`delete from calendar_taken where series_id = any(${ids}::uuid[])`.execute(unit.sql)
  await deleteItems(unit, gone)
}

interface WrittenEvent {
  columns: EventColumns
  body: EventBody | null | undefined
}

/** The rows of items, each series before its exceptions. */
function* eventSteps(planned: readonly PlannedItem[], options: RecordingEvents): Steps<WrittenEvent[]> {
  const events: WrittenEvent[] = []
  for (const { item, spans } of planned) {
    events.push(rootOf(item, spans, options))
    for (const exception of exceptionsOf(item, options)) {
      events.push(exception)
      if (events.length % STEP_MEMBERS === 0) yield
    }
  }
  return events
}

function rootOf(item: WrittenItem, spans: ItemSpans, options: RecordingEvents): WrittenEvent {
  const { id, key, before, state } = item
  const isSeries = state.recurrence !== null
  const isExpanded = state.occurrences !== null
  const columns: EventColumns = {
    id,
    kind: isSeries ? 'series' : 'single',
    provider_key: key,
    version: state.version,
    uid: state.uid === null ? null : storedUid(state.uid),
    series_id: null,
    member: null,
    original_at: null,
    shown: state.event?.shown ?? null,
    ...timeColumns(state.event?.shown ?? null, options.unzoned),
    recurrence: state.recurrence,
    cancelled_starts: spans.cancelledStarts,
    is_expanded: isExpanded,
    is_truncated: spans.isTruncated,
    ends_at: spans.endsAt?.toISOString() ?? 'infinity',
    spanned_until: spans.endsAt === null && !isExpanded ? options.window.end.toISOString() : null,
    zone_release: ZONE_DATA_RELEASE,
    updated_at: updatedAt(state.event, before?.root),
  }
  return { columns, body: state.event?.body }
}

function* exceptionsOf({ id, before, state }: WrittenItem, { unzoned }: RecordingEvents) {
  for (const [member, exception] of state.exceptions) {
    const start = state.event?.shown.start ?? exception.shown.start
    const times = timeColumns(exception.shown, unzoned)
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
      ...times,
      ...NO_SERIES,
      ends_at: times.end_at,
      updated_at: updatedAt(exception, before?.exceptions.get(member)),
    }
    yield { columns, body: exception.body }
  }
}

const NO_SERIES = {
  recurrence: null,
  cancelled_starts: null,
  is_expanded: false,
  is_truncated: false,
  spanned_until: null,
  zone_release: null,
}

function timeColumns<Shown extends ShownEvent | null>(
  shown: Shown,
  unzoned: string,
): Record<'start_at' | 'end_at', Shown extends null ? null : string>
function timeColumns(shown: ShownEvent | null, unzoned: string) {
  if (shown === null) return { start_at: null, end_at: null }
  const { startAt, endAt } = instantsOf(shown, unzoned)
  return { start_at: new Date(startAt).toISOString(), end_at: new Date(endAt).toISOString() }
}

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
