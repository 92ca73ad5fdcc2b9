import { sql } from 'kysely'
import type { Db } from '../../database/pool.ts'
import type { BlobStore } from '../../kit/blobs/blob-store.ts'
import { deleteInBatches, deleteOfAccount } from '../accounts/accounts/purge.ts'
import { purgeBlobs } from './content/record-blobs.ts'

/** Tables of mail with a column `account_id`; a table precedes the ones that it refers to. */
const TABLES = [
  'quarantined_message',
  'message',
  'sent_message',
  'thread_link',
  'sync_cursor',
  'changed_key',
  'mailbox_comparison',
  'mailbox',
  'identity',
  'mail_settings',
] as const

/** Deletes the mail of an account: stored files first, then rows. */
export async function purgeMail(
  db: Db,
  blobs: BlobStore,
  accountId: string,
  signal: AbortSignal,
): Promise<void> {
  await purgeBlobs(db, blobs, accountId, signal)
  await deleteInBatches(
    db,
    signal,
    rowsMax =>
      sql`
      delete from message_mailbox where ctid = any(array(
        select message_mailbox.ctid from message_mailbox join mailbox on mailbox.id = mailbox_id
        where account_id = ${accountId} limit ${rowsMax}))`,
  )
  await deleteOfAccount(db, TABLES, accountId, signal)
}
