import type { Connections } from '../../../connections/connections.ts'
import type { Db } from '../../../database/pool.ts'
import { failedFor } from '../../../database/shortage.ts'
import { blobKey } from '../../../kit/blobs/blob-key.ts'
import { type BlobStore, type BlobWriter, isLost } from '../../../kit/blobs/blob-store.ts'
import type { Sealing } from '../../../kit/blobs/sealed-frames.ts'
import type { Logger } from '../../../kit/log.ts'
import type { AccountRow } from '../../../accounts/row.ts'
import type { AccountKeys } from '../../../accounts/secrets.ts'
import { beginBlob, bindBlob, deleteBlobs, recordSize, releaseBlob } from './record-blobs.ts'

/** A larger message is read from its provider each time. */
export const STORED_BYTES_MAX = 50 * 1024 * 1024

/** The dependencies for reading stored messages. */
export interface StoredContext {
  db: Db
  blobs: BlobStore
  accountKeys: AccountKeys
  log: Logger
}

/** The dependencies for reading and storing messages. */
export interface SourceContext extends StoredContext {
  connections: Connections
  /** Called when messages of an account were stored: their words come into the index soon. */
  bodies: { wake(accountId: string): void }
  wakeSync(accountId: string): void
}

/**
 * Opens the stored source of a message, with its first bytes read. `unreadable`: it is stored but cannot be read now,
 * because of trouble with the disk, the bucket or the keys.
 */
export async function openStored(
  { db, blobs, accountKeys, log }: StoredContext,
  account: AccountRow,
  messageId: string,
): Promise<AsyncGenerator<Buffer> | 'none' | 'unreadable'> {
  const row = await db
    .selectFrom('message_blob')
    .select(['id', 'tenant_id', 'account_id'])
    .where('message_id', '=', messageId)
    .executeTakeFirst()
  if (!row) return 'none'
  const warn = (error: unknown) =>
    log.warn({ error, accountId: account.id }, 'A stored message cannot be read')
  // Lost, damaged or of another message: it is fetched again, and the sweep deletes the file.
  const letGo = async (error: unknown) => {
    warn(error)
    const isGone = isLost(error)
    if (isGone) await releaseBlob(db, row.id)
    return isGone
  }
  let sealing: Sealing
  try {
    sealing = accountKeys.blobSealing(account)(messageId)
  } catch (error) {
    // A key that does not open is no fault of the file.
    warn(error)
    return 'unreadable'
  }
  try {
    const content = blobs.read(blobKey(row), sealing)
    // If damage is found on the way, this read fails and the next one is complete.
    return resume(await content.next(), content, letGo)
  } catch (error) {
    return (await letGo(error)) ? 'none' : 'unreadable'
  }
}

/** Content whose first piece was already read. @param onError called before an error of the rest is rethrown */
async function* resume(
  first: IteratorResult<Buffer, unknown>,
  rest: AsyncGenerator<Buffer, unknown>,
  onError: (error: unknown) => Promise<unknown> = async () => {},
): AsyncGenerator<Buffer> {
  if (first.done) return
  try {
    yield first.value
    yield* rest
  } catch (error) {
    await onError(error)
    throw error
  } finally {
    await rest.return(undefined)
  }
}

/**
 * The outcome of storing a copy. `left out`: the plan has no room, or the message is too large, was cut off, or is
 * gone.
 */
export type CopyOutcome = 'stored' | 'failed' | 'left out'

/**
 * Passes content on and stores it on the way if the plan has room for it. Content that is broken off, or that does not
 * report to be complete, is not stored. A full disk does not stop readers.
 * @param onSettled called once with the outcome of the copy, as soon as that is known
 */
export async function* keepCopy(
  context: SourceContext,
  account: AccountRow,
  message: { id: string; size: number | null },
  content: AsyncGenerator<Buffer, boolean>,
  onSettled: (outcome: CopyOutcome) => void = () => {},
): AsyncGenerator<Buffer> {
  const { db, log } = context
  let isSettled = false
  const settle = (outcome: CopyOutcome) => {
    if (!isSettled) onSettled(outcome)
    isSettled = true
  }
  const attempt = async <T>(work: () => Promise<T>): Promise<T | null> => {
    try {
      return await work()
    } catch (error) {
      log.warn({ error }, failedFor('A message could not be stored', error))
      settle('failed')
      return null
    }
  }
  let copy = await attempt(() => beginCopy(context, account, message))
  if (!copy) settle('left out')
  let left = STORED_BYTES_MAX
  let isWhole = false
  async function* toItsEnd() {
    isWhole = yield* content
  }
  try {
    for await (const bytes of toItsEnd()) {
      const isTooLarge = left >= 0 && bytes.length > left
      left -= bytes.length
      if (isTooLarge && (await attempt(() => recordSize(db, message.id, STORED_BYTES_MAX - left))))
        settle('left out')
      if (copy && (left < 0 || !(await attempt(() => copy!.write(bytes))))) {
        await copy.abort()
        copy = null
      }
      yield bytes
    }
    // Content that may be cut off is fetched again next time.
    if (!isWhole) return
    const whole = copy
    copy = null
    if (whole && (await attempt(() => whole.commit()))) settle('stored')
  } finally {
    await copy?.abort()
    settle('left out')
  }
}

interface Copy {
  write(bytes: Buffer): Promise<true>
  /** False if the message is gone, another copy was first, or the plan has no room for its size. */
  commit(): Promise<boolean>
  abort(): Promise<void>
}

async function beginCopy(
  { db, blobs, accountKeys, bodies, log }: SourceContext,
  account: AccountRow,
  message: { id: string; size: number | null },
): Promise<Copy | null> {
  // Before the file, so that no file is without a row.
  const row = await beginBlob(db, account, message.size ?? 0)
  if (!row) return null
  const sealing = accountKeys.blobSealing(account)(message.id)
  const writer: BlobWriter = await blobs.create(blobKey(row), sealing)
  /** Never rejects: readers do not depend on it. */
  const discard = async (stop: () => Promise<void> = async () => {}) => {
    try {
      await stop()
      await blobs.remove(blobKey(row))
      await deleteBlobs(db, [row])
    } catch (error) {
      log.warn({ error, accountId: account.id }, 'A message that was not stored is left to the sweep')
    }
  }
  return {
    async write(bytes) {
      await writer.write(bytes)
      return true
    },
    async commit() {
      const bytes = await writer.commit()
      const isBound = await bindBlob(db, row, message.id, bytes)
      if (isBound) bodies.wake(account.id)
      else await discard()
      return isBound
    },
    abort: () => discard(() => writer.abort()),
  }
}
