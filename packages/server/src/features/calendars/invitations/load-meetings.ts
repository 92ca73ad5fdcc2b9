import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { ShownEvent } from '../events/shown.ts'
import { fieldsOf, type Meeting, type MeetingEvent } from './meeting.ts'

interface MeetingRow {
  kind: 'single' | 'series' | 'exception'
  uid: string | null
  member: string | null
  shown: ShownEvent | null
  recurrence: string[] | null
  updated_at: Date
  digest: string | null
  /** Of `shown` in all rows. */
  bytes: number
}

/**
 * Bytes of a meeting that is kept with a write: some 100 exceptions with 500 attendees each. It is read and written as a
 * whole, whereas its mails are made piece by piece.
 */
const MEETING_BYTES_MAX = 8 * 1024 * 1024
/** Bytes of a deleted member, as JSON. */
const MEMBER_BYTES = 22

/** The meeting of a single or series as the index has it. Null if it has none with a UID. */
export async function findMeeting(
  db: Db,
  accountId: string,
  itemId: string,
): Promise<Meeting | 'too_large' | null> {
  const { rows } = await sql<MeetingRow>`
    with event as (
      select id, kind, uid, member, shown, recurrence, updated_at,
        coalesce(sum(octet_length(shown::text)) over (), 0)::float8 as bytes
      from calendar_event
      where account_id = ${accountId} and (id = ${itemId} or series_id = ${itemId})
    )
    select kind, uid, member, recurrence, updated_at, bytes,
      case when bytes <= ${MEETING_BYTES_MAX} then shown end as shown,
      encode(sha256(convert_to(content_type || ':' || content, 'UTF8')), 'hex') as digest
    from event left join calendar_event_body on calendar_event_body.event_id = event.id
    order by member
  `.execute(db)
  const root = rows.find(({ kind }) => kind !== 'exception')
  const lines = (root?.recurrence ?? []).reduce((sum, line) => sum + line.length, 0)
  const bytes = (rows[0]?.bytes ?? 0) + lines
  if (bytes > MEETING_BYTES_MAX) return 'too_large'
  const exceptions = rows.flatMap(row => {
    const event = row.kind === 'exception' ? meetingEventOf(row) : null
    return event && row.member !== null ? [{ member: row.member, event }] : []
  })
  const uid = (root?.shown ?? rows[0]?.shown)?.iCalUid ?? null
  if (!root || uid === null) return null
  const { rows: taken } = await sql<{ member: string }>`
    select member from calendar_taken where series_id = ${itemId} order by member
  `.execute(db)
  if (bytes + taken.length * MEMBER_BYTES > MEETING_BYTES_MAX) return 'too_large'
  return {
    uid,
    event: meetingEventOf(root),
    recurrence: root.kind === 'series' ? (root.recurrence ?? []) : null,
    exceptions,
    taken: taken.map(({ member }) => member),
  }
}

const meetingEventOf = ({ shown, updated_at: updatedAt, digest }: MeetingRow): MeetingEvent | null =>
  shown && {
    ...fieldsOf(shown),
    stampedAt: updatedAt.toISOString(),
    bodyDigest: digest,
    body: null,
  }
