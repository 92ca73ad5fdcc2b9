import type { Db } from '../../database/pool.ts'
import type { BlobWriter } from '../../kit/blobs/blob-store.ts'
import type { AccountRow } from '../accounts/account.ts'
import type { Services } from '../context.ts'
import { beginBlob, bindBlob, blobKey, deleteBlobs } from './record-blobs.ts'

/** A larger message is read from its provider each time. */
export const STORED_BYTES_MAX = 50 * 1024 * 1024

/** What reading stored messages needs. */
export interface StoredContext {
  db: Db
  services: Pick<Services, 'blobs' | 'accountKeys' | 'log'>
}

/** What reading and storing messages needs. */
export interface SourceContext {
  db: Db
  services: Pick<Services, 'mail' | 'blobs' | 'bodies' | 'accountKeys' | 'log'>
}

/** The stored source of a message, its first octets read; null where there is none that can be read. */
export async function openStored(
  { db, services }: StoredContext,
  account: AccountRow,
  messageId: string,
): Promise<AsyncGenerator<Buffer> | null> {
  const row = await db
    .selectFrom('message_blob')
    .select(['id', 'tenant_id', 'account_id'])
    .where('message_id', '=', messageId)
    .executeTakeFirst()
  if (!row) return null
  // Lost, damaged or of another message: it is fetched anew, and the sweep takes the file.
  const letGo = async (error: unknown) => {
    services.log.warn({ error, accountId: account.id }, 'A stored message cannot be read')
    await db.updateTable('message_blob').set({ message_id: null }).where('id', '=', row.id).execute()
  }
  try {
    const content = services.blobs.read(blobKey(row), services.accountKeys.blobSealing(account)(messageId))
    return resume(await content.next(), content, letGo)
  } catch (error) {
    await letGo(error)
    return null
  }
}

/** What is found to be damaged on the way is broken off, and whole the next time. */
async function* resume(
  first: IteratorResult<Buffer>,
  rest: AsyncGenerator<Buffer>,
  letGo: (error: unknown) => Promise<void>,
): AsyncGenerator<Buffer> {
  if (first.done) return
  try {
    yield first.value
    yield* rest
  } catch (error) {
    await letGo(error)
    throw error
  } finally {
    await rest.return(undefined)
  }
}

/**
 * Hands content on and stores it on the way, where the plan has room for it. What is broken off is not stored, and a full
 * disk keeps nobody from reading.
 */
export async function* keepCopy(
  context: SourceContext,
  account: AccountRow,
  message: { id: string; size: number },
  content: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  const { log } = context.services
  const begun = await attempt(log, () => beginCopy(context, account, message))
  let copy = begun
  let left = message.size
  try {
    for await (const bytes of content) {
      if (copy && !(await attempt(log, () => copy!.write(bytes)))) {
        await copy.abort()
        copy = null
      }
      left -= bytes.length
      yield bytes
    }
    // What ends before the size that the server told may be cut off; it is read anew next time.
    if (left > 0) return
    const whole = copy
    copy = null
    if (whole) await attempt(log, () => whole.commit())
  } finally {
    await copy?.abort()
  }
}

interface Copy {
  write(bytes: Buffer): Promise<true>
  commit(): Promise<true>
  abort(): Promise<void>
}

async function attempt<T>(log: Services['log'], work: () => Promise<T>): Promise<T | null> {
  try {
    return await work()
  } catch (error) {
    log.warn({ error }, 'A message could not be stored')
    return null
  }
}

async function beginCopy(
  { db, services }: SourceContext,
  account: AccountRow,
  message: { id: string; size: number },
): Promise<Copy | null> {
  // Before the file, so that no file is without a row.
  const row = await beginBlob(db, account, message.size)
  if (!row) return null
  const sealing = services.accountKeys.blobSealing(account)(message.id)
  const writer: BlobWriter = await services.blobs.create(blobKey(row), sealing)
  const discard = async () => {
    await services.blobs.remove(blobKey(row))
    await deleteBlobs(db, [row])
  }
  return {
    async write(bytes) {
      await writer.write(bytes)
      return true
    },
    async commit() {
      const bytes = await writer.commit()
      if (await bindBlob(db, row, message.id, bytes)) services.bodies.wake()
      else await discard()
      return true
    },
    async abort() {
      await writer.abort()
      await discard()
    },
  }
}
