import { sql } from 'kysely'
import { UNVERSIONED_RETRY_HOURS } from '../../accounts/halves/quarantined.ts'
import type { StoredTimes } from '../../jobs/stored-times.ts'
import { LEASE_SECONDS } from './writing/intents.ts'

export const CALENDAR_TIMES: readonly StoredTimes[] = [
  {
    table: 'quarantined_calendar_event',
    // Others are read again once they have another version.
    among: sql`version is null`,
    waits: { next_attempt_at: { seconds: UNVERSIONED_RETRY_HOURS * 3_600 } },
  },
  { table: 'calendar_comparison', waits: { due_at: { setAt: 'due_set_at' } }, past: ['compared_at'] },
  { table: 'pending_invitation', waits: { due_at: { setAt: 'due_set_at' } }, past: ['created_at'] },
  { table: 'calendar_intent', waits: { leased_until: { seconds: LEASE_SECONDS } }, past: ['created_at'] },
]
