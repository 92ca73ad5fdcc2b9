import type { Db } from '../../database/pool.ts'
import type { BlobStore } from '../../kit/blobs/blob-store.ts'
import { deleteOfAccount } from '../accounts/accounts/purge.ts'
import { purgePhotos } from './photos/store.ts'

/** Tables of contacts with a column `account_id`; a table precedes the ones that it refers to. */
const TABLES = [
  'contact_home',
  'contact_mark',
  'contact_comparison',
  'quarantined_contact',
  'contact',
  'contact_folder',
] as const

/** Deletes the contacts of an account: stored photos first, then rows. */
export async function purgeContacts(
  db: Db,
  blobs: BlobStore,
  accountId: string,
  signal: AbortSignal,
): Promise<void> {
  await purgePhotos(db, blobs, accountId, signal)
  await deleteOfAccount(db, TABLES, accountId, signal)
}
