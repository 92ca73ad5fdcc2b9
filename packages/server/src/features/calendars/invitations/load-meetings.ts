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
}

/** The meeting of a single or series as the index has it. Null if it has none with a UID. */
export async function findMeeting(db: Db, accountId: string, itemId: string): Promise<Meeting | null> {
  const { rows } = await sql<MeetingRow>`
    select kind, uid, member, shown, recurrence, updated_at,
      encode(sha256(convert_to(content_type || ':' || content, 'UTF8')), 'hex') as digest
    from calendar_event left join calendar_event_body on calendar_event_body.event_id = calendar_event.id
    where calendar_event.account_id = ${accountId} and (calendar_event.id = ${itemId} or series_id = ${itemId})
    order by member
  `.execute(db)
  const root = rows.find(({ kind }) => kind !== 'exception')
  const exceptions = rows.flatMap(row => {
    const event = row.kind === 'exception' ? meetingEventOf(row) : null
    return event && row.member !== null ? [{ member: row.member, event }] : []
  })
  const uid = (root?.shown ?? rows[0]?.shown)?.iCalUid ?? null
  if (!root || uid === null) return null
  const { rows: taken } = await sql<{ member: string }>`
    select member from calendar_taken where series_id = ${itemId} order by member
  `.execute(db)
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
