import { sql } from 'kysely'
import type { StoredTimes } from '../../jobs/stored-times.ts'

/** Deliveries come before their endpoints, which are looked at in time for them. */
export const NOTIFICATION_TIMES: readonly StoredTimes[] = [
  {
    table: 'webhook_delivery',
    among: sql`due_at is not null`,
    waits: { due_at: { setAt: 'due_set_at' }, held_until: { setAt: 'held_at' } },
    past: ['queued_at'],
  },
  {
    table: 'webhook_dispatch',
    waits: {
      due_at: { setAt: 'due_set_at' },
      probe_at: { setAt: 'probe_set_at' },
      paused_until: { setAt: 'pause_set_at' },
    },
    past: ['served_at', 'holds_cleared_at', 'give_up_before'],
  },
  { table: 'webhook_endpoint', past: ['failing_since'] },
]
