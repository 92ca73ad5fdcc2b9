import type { Db } from '../../database/pool.ts'
import { deleteOfAccount } from '../accounts/accounts/purge.ts'

/** Tables with a column `account_id`; a table precedes the ones that it refers to. */
const TABLES = [
  'tracking_item',
  'tracked_send',
  'outbox_content',
  'outbox',
  'mail_merge_pace',
  'sending_account',
  'suppression_review',
  'template',
  'pending_answer',
  'bounce',
] as const

/** Deletes everything that an account sent, and its templates. */
export async function purgeSending(db: Db, accountId: string, signal: AbortSignal): Promise<void> {
  await deleteOfAccount(db, TABLES, accountId, signal)
}
