import { sql } from 'kysely'
import type { StoredTimes } from '../../jobs/stored-times.ts'
import { HELD_SECONDS } from './drafts/record-change.ts'
import { LOOK_UP_HOURS_MAX } from './outbox/tasks.ts'

/** As long as the rest of the time in which a message is looked for. */
const SEARCHED_SECONDS = (LOOK_UP_HOURS_MAX / 2) * 3_600

/** Entries come before their accounts and merges, which are looked at in time for them. */
export const SENDING_TIMES: readonly StoredTimes[] = [
  {
    table: 'outbox',
    among: sql`due_at is not null`,
    waits: { due_at: { setAt: 'due_set_at', unless: sql`(is_scheduled and due_at = send_at)` } },
    past: ['dated_at'],
  },
  { table: 'outbox', among: sql`task is not null`, waits: { task_at: { setAt: 'task_set_at' } } },
  // Look-ups search the sent mail from then on.
  { table: 'outbox', among: sql`task = 'look_up'`, since: { handed_over_at: SEARCHED_SECONDS } },
  { table: 'outbox', among: sql`(task is not null or phase is not null)`, past: ['handed_over_at'] },
  // A merge keeps a time after its last hand-over.
  {
    table: 'outbox',
    among: sql`mail_merge_id in (select id from mail_merge_pace)`,
    past: ['handed_over_at'],
  },
  { table: 'outbox', among: sql`held_since is not null`, past: ['held_since'] },
  { table: 'outbox', among: sql`filed_copy is not null`, past: ['copy_filed_at'] },
  {
    table: 'sending_account',
    waits: { due_at: { setAt: 'due_set_at' }, paused_until: { setAt: 'pause_set_at' } },
    past: ['served_at', 'troubled_since'],
  },
  { table: 'mail_merge_pace', waits: { due_at: { setAt: 'due_set_at' } } },
  { table: 'pending_answer', waits: { due_at: { setAt: 'due_set_at' } }, past: ['created_at'] },
  { table: 'draft_change', waits: { held_until: { seconds: HELD_SECONDS } } },
  {
    table: 'tracked_send',
    among: sql`judge_due_at is not null`,
    waits: { judge_due_at: { setAt: 'judge_set_at' } },
  },
  { table: 'tracking_item', among: sql`is_machine is null`, past: ['occurred_at'] },
  { table: 'outbox_content', among: sql`outbox_id is null`, past: ['created_at'] },
]
