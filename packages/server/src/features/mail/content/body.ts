import { type MessageReader, type ReadMessage, ReaderLost } from '../../../kit/mime/message-reader.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import type { AccountView } from '../../../accounts/row.ts'
import { refuse } from '../../../calls/refuse.ts'
import { recordContents } from '../messages/record-contents.ts'
import type { PartPlaces } from './part-places.ts'
import { isStorable, openSource } from './source.ts'
import type { SourceContext } from './stored-source.ts'
import type { FullRow } from '../messages/store.ts'

/** Larger messages are not parsed. */
const PARSED_BYTES_MAX = 50 * 1024 * 1024
const RETRY_SECONDS = 5

/** Dependencies of reading messages. */
export interface ReadContext extends SourceContext {
  /** Reads the MIME of messages, apart from the event loop. */
  reader: MessageReader
  partPlaces: PartPlaces
}

/** Reads the content of the message. Null if it is too large, or too hard to read within the limits. */
export async function readMessage(
  context: ReadContext,
  account: AccountView,
  message: FullRow,
): Promise<ReadMessage | null> {
  if ((message.size ?? 0) > PARSED_BYTES_MAX) return null
  const read = async () => {
    const content = upTo(await openSource(context, account, message), PARSED_BYTES_MAX)
    const found = await context.reader.read(account.tenant_id, content)
    if (found && !message.is_draft && !isStorable(account, message))
      context.partPlaces.keep(message.id, found.attachments)
    return found
  }
  try {
    return await read()
  } catch (error) {
    if (error instanceof TooLarge) return null
    if (!(error instanceof ReaderLost)) throw error
  }
  try {
    return await read()
  } catch (error) {
    if (error instanceof TooLarge) return null
    if (!(error instanceof ReaderLost)) throw error
    return refuse('overloaded', undefined, { retryAfterSeconds: RETRY_SECONDS })
  }
}

/** Returns the message as its whole content shows it, and corrects the index if that differs. */
export async function correctMessage(
  { db, log }: ReadContext,
  account: AccountView,
  message: FullRow,
  { facts }: ReadMessage,
): Promise<FullRow> {
  const corrected = {
    ...message,
    snippet: message.snippet || facts.snippet,
    has_attachments: facts.hasAttachments ?? message.has_attachments,
  }
  if (corrected.snippet === message.snippet && corrected.has_attachments === message.has_attachments)
    return message
  try {
    const read = [{ messageId: message.id, facts }]
    await inTransaction(db, account.tenant_id, unit => recordContents(unit, read))
  } catch (error) {
    // The answer is complete anyway. The next read corrects the index.
    log.warn({ error, accountId: account.id }, 'The summary of a message could not be corrected')
  }
  return corrected
}

class TooLarge extends Error {}

/** RFC822.SIZE is only the server's claim, so the content itself is limited here. @throws TooLarge */
async function* upTo(content: AsyncIterable<Buffer>, bytesMax: number): AsyncGenerator<Buffer> {
  let left = bytesMax
  for await (const bytes of content) {
    if (bytes.length > left) throw new TooLarge()
    left -= bytes.length
    yield bytes
  }
}
