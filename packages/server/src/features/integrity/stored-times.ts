import type { StoredTimes } from '../../jobs/stored-times.ts'

export const INTEGRITY_TIMES: readonly StoredTimes[] = [
  { table: 'mailbox_comparison', waits: { due_at: { setAt: 'due_set_at' } }, past: ['compared_at'] },
]
