import type { CalendarEvent } from '@waxwing/contract/calendars/calendar-events.ts'
import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { MemberPlace } from '../../../providers/changing-calendars.ts'
import { endedCalendars } from '../calendars/store.ts'
import { type EventRow, eventColumns } from './event-row.ts'
import type { ShownEvent } from './shown.ts'

/** An event of the index that a request is about. */
export interface EventTarget {
  id: string
  kind: CalendarEvent['kind']
  /** Its single or series. Of an exception whose series is not known, the placeholder of that. */
  root: EventRow
  /** The fields of the event, with the times of an occurrence. */
  shown: ShownEvent
  /** The occurrence or exception in its series; null: a single or a whole series. */
  member: MemberPlace | null
}

/** Finds an event of any kind, as far as it reaches into the window or lies after it. */
export async function findTarget(
  db: Db,
  { accountId, id, from }: { accountId: string; id: string; from: Date },
): Promise<EventTarget | null> {
  const isShown = sql`calendar_event.calendar_id <> all(${endedCalendars(accountId)})`
  const { rows } = await sql<EventRow>`
    select ${eventColumns} from calendar_event
    where calendar_event.account_id = ${accountId} and ${isShown} and (
      calendar_event.id = ${id} and calendar_event.ends_at >= ${from}
      or calendar_event.id = (select series_id from calendar_event as exception where exception.id = ${id}))
  `.execute(db)
  const row = rows.find(one => one.id === id)
  if (row?.kind === 'exception') {
    const root = rows.find(one => one.id === row.series_id)
    const member = { member: row.member ?? '', memberKey: row.provider_key }
    return root && row.shown ? { id, kind: 'exception', root, shown: row.shown, member } : null
  }
  if (row?.shown) return { id, kind: row.kind, root: row, shown: row.shown, member: null }
  return row ? null : findOccurrence(db, { accountId, id, from })
}

interface OccurrenceRow {
  span_start: string
  span_end: string
  span_member: string | null
  span_key: string | null
}

async function findOccurrence(
  db: Db,
  { accountId, id, from }: { accountId: string; id: string; from: Date },
): Promise<EventTarget | null> {
  const { rows } = await sql<EventRow & OccurrenceRow>`
    select span.start_wall as span_start, span.end_wall as span_end, span.member as span_member,
      span.provider_key as span_key, ${eventColumns}
    from calendar_span as span join calendar_event on calendar_event.id = span.root_id
    where span.account_id = ${accountId} and span.id = ${id} and span.end_at >= ${from}
      and span.event_id = span.root_id and calendar_event.kind = 'series'
      and span.calendar_id <> all(${endedCalendars(accountId)})
  `.execute(db)
  const [root] = rows
  if (!root?.shown) return null
  const { span_start: start, span_end: end, span_member: member, span_key: memberKey } = root
  const shown = {
    ...root.shown,
    start: { wall: start, zone: root.shown.start.zone },
    end: { wall: end, zone: root.shown.end.zone },
  }
  return { id, kind: 'occurrence', root, shown, member: { member: member ?? start, memberKey } }
}

/** Whether members of a series are taken, among them this one. */
export async function isTaken(db: Db, seriesId: string, members: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ member: string }>`
    select member from calendar_taken where series_id = ${seriesId} and member = any(${[...members]}::text[])
  `.execute(db)
  return new Set(rows.map(({ member }) => member))
}
