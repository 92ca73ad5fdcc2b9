import type { AccountView } from '../../../accounts/row.ts'
import type { AccountKeys } from '../../../accounts/secrets.ts'
import type { Connections } from '../../../connections/connections.ts'
import type { Db } from '../../../database/pool.ts'
import { failedFor } from '../../../database/shortage.ts'
import { blobKey } from '../../../kit/blobs/blob-key.ts'
import { type BlobStore, isLost } from '../../../kit/blobs/blob-store.ts'
import type { Logger } from '../../../kit/log.ts'
import { resume } from '../../mail/content/stored-source.ts'
import type { ContactRow } from '../contacts/contact-row.ts'
import { beginPhoto, bindPhoto, findPhoto, type PhotoOwner, releasePhoto } from './store.ts'

/** The dependencies for reading and keeping photos. */
export interface PhotoContext {
  db: Db
  blobs: BlobStore
  accountKeys: AccountKeys
  connections: Connections
  log: Logger
}

/** Opens the kept photo of a contact, with its first bytes read. Null if none is kept of this version, or it is lost. */
export async function openPhoto(
  { db, blobs, accountKeys, log }: PhotoContext,
  account: AccountView,
  { id, photo_state: state, photo_version: version }: ContactRow,
): Promise<{ contentType: string; content: AsyncIterable<Uint8Array> } | null> {
  const row = state === 'some' && version !== null ? await findPhoto(db, id, version) : null
  if (!row) return null
  try {
    const content = blobs.read(blobKey(row), accountKeys.photoSealing(account)(row.id))
    const first = await content.next()
    return { contentType: row.contentType, content: resume(first, content) }
  } catch (error) {
    log.warn({ error, accountId: account.id }, 'A kept photo cannot be read, and is fetched again')
    if (isLost(error)) await releasePhoto(db, row)
    return null
  }
}

/** Keeps a photo if the plan has room for it. A full disk does not stop readers. */
export async function keepPhoto(
  { db, blobs, accountKeys, log }: PhotoContext,
  account: AccountView,
  owner: PhotoOwner,
  { version, contentType, content }: { version: string; contentType: string; content: Buffer },
): Promise<void> {
  try {
    const row = await beginPhoto(db, owner, { version, contentType, size: content.length })
    if (!row) return
    const bytes = await blobs.put(blobKey(row), accountKeys.photoSealing(account)(row.id), content)
    await bindPhoto(db, owner, row, bytes)
  } catch (error) {
    log.warn({ error }, failedFor('A photo could not be kept', error))
  }
}
