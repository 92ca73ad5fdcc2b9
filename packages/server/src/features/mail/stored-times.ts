import { sql } from 'kysely'
import type { StoredTimes } from '../../jobs/stored-times.ts'
import { KEPT_HOURS } from './messages/record-drafts.ts'

export const MAIL_TIMES: readonly StoredTimes[] = [
  { table: 'quarantined_message', waits: { next_attempt_at: { setAt: 'attempt_set_at' } } },
  {
    table: 'message',
    among: sql`missing_look is not null`,
    waits: { kept_until: { seconds: KEPT_HOURS * 3_600 } },
  },
  { table: 'mail_settings', past: ['identities_read_at', 'identities_asked_at'] },
  { table: 'mailbox_comparison', waits: { due_at: { setAt: 'due_set_at' } }, past: ['compared_at'] },
  { table: 'message_blob', among: sql`message_id is null`, past: ['created_at'] },
]
