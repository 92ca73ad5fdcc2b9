import { failedFor } from '../../../database/shortage.ts'
import { blobKey } from '../../../kit/blobs/blob-key.ts'
import type { MessageReader } from '../../../kit/mime/message-reader.ts'
import { CONTENT_BYTES_MAX } from '../../../providers/content.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { reachedAs } from '../../../accounts/reach.ts'
import { Refusal } from '../../../calls/refuse.ts'
import { knownOf } from '../messages/location.ts'
import { beginBlobs, bindBlobs, type BlobRow, deleteBlobs, type WrittenBlob } from './record-blobs.ts'
import { openSource } from './source.ts'
import type { CopyOutcome, SourceContext } from './stored-source.ts'
import { BATCH_BYTES_MAX, type UnstoredMessage } from './unstored.ts'

export interface BatchContext extends SourceContext {
  /** Separate from the reader of the API, so that callers do not wait for messages that are being stored. */
  reader: MessageReader
}

export interface FetchedSource {
  message: Pick<UnstoredMessage, 'id'>
  content: Buffer
}

export interface FetchedBatch {
  sources: FetchedSource[]
  /** Messages that were too large to be fetched with the others, or were not in the answer. */
  left: UnstoredMessage[]
  /** Whether the provider allows no more for now; then nothing is left to be tried alone. */
  isThrottled: boolean
}

/** Fetches the sources of a batch with one request per mailbox. Failed ones are left for `storeAlone`. */
export async function fetchBatch(
  { connections, log }: BatchContext,
  account: AccountView,
  batch: readonly UnstoredMessage[],
  signal: AbortSignal,
): Promise<FetchedBatch> {
  const small = batch.filter(({ size }) => (size ?? 0) <= CONTENT_BYTES_MAX)
  const found = new Map<UnstoredMessage, Buffer>()
  let left = BATCH_BYTES_MAX
  let isThrottled = false
  try {
    for (const [source, messages] of Map.groupBy(small, message => message.source)) {
      const keys = messages.map(({ key }) => key)
      const at = { source, cursor: messages[0]?.cursor ?? null, keys, known: knownOf(messages) }
      const sources = await connections.use(
        reachedAs(account),
        'content',
        content => content.readSources(at, left),
        { isRepeatable: true, signal },
      )
      for (const message of messages) {
        const content = sources.get(message.key)
        left -= content?.length ?? 0
        // A literal is complete, even if another size was announced. But a message with a size is not empty.
        if (content && (content.length > 0 || !message.size)) found.set(message, content)
      }
    }
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error
    isThrottled = error.kind === 'throttled'
    log.info({ error, accountId: account.id }, 'Bodies cannot be fetched together')
  }
  return {
    sources: [...found].map(([message, content]) => ({ message, content })),
    left: isThrottled ? [] : batch.filter(message => !found.has(message)),
    isThrottled,
  }
}

/**
 * Stores sources together: rows, files, then the binding to their messages. Returns false if some could not be stored.
 */
export async function storeTogether(
  context: BatchContext,
  account: AccountView,
  sources: readonly FetchedSource[],
): Promise<boolean> {
  const { db, blobs, bodies, log } = context
  if (sources.length === 0) return true
  // Before the files, so that no file is without a row.
  const rows = await beginBlobs(db, account, sources.length)
  const written = await Promise.all(
    sources.map((source, index) => writeBlob(context, account, rows[index]!, source)),
  )
  const files = written.flatMap(file => file ?? [])
  const bound = await bindBlobs(db, files)
  if (files.some(({ row, read }) => read === undefined || !bound.has(row.id))) bodies.wake(account.id)
  log.debug({ accountId: account.id, count: bound.size }, 'Stored bodies')
  const unbound = rows.filter(({ id }) => !bound.has(id))
  if (unbound.length === 0) return true
  await Promise.all(unbound.map(row => blobs.remove(blobKey(row))))
  await deleteBlobs(db, unbound)
  return files.length === sources.length
}

async function writeBlob(
  { blobs, accountKeys, log, reader }: BatchContext,
  account: AccountView,
  row: BlobRow,
  { message, content }: FetchedSource,
): Promise<WrittenBlob | null> {
  const reading = reader.readWords(account.tenant_id, once(content)).catch(() => undefined)
  try {
    const bytes = await blobs.put(blobKey(row), accountKeys.blobSealing(account)(message.id), content)
    return { row, messageId: message.id, bytes, read: await reading }
  } catch (error) {
    log.warn({ error, accountId: account.id }, failedFor('A message could not be stored', error))
    return null
  }
}

async function* once(content: Buffer): AsyncGenerator<Buffer> {
  yield content
}

/** Stores one message as it is read, a piece at a time. `unreachable`: its provider cannot be reached. */
export async function storeAlone(
  context: BatchContext,
  account: AccountView,
  message: UnstoredMessage,
  signal: AbortSignal,
): Promise<CopyOutcome | 'unreachable'> {
  let outcome: CopyOutcome | null = null
  try {
    const content = await openSource(context, account, message, settled => (outcome = settled))
    // Once the copy has failed, the rest is not read.
    for await (const _ of content) if (signal.aborted || outcome !== null) break
    return outcome ?? 'left out'
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    if (error.reason === 'provider_not_found') return 'left out'
    context.log.info({ accountId: account.id, reason: error.reason }, 'Bodies cannot be stored now')
    return 'unreachable'
  }
}
