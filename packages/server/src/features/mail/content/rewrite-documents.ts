import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import type { MessageReader } from '../../../kit/mime/message-reader.ts'
import { SEARCH_VERSION } from '../../../kit/search-text/version.ts'
import { findAccountView } from '../../../accounts/store.ts'
import { recordMissingDocuments, rewriteDocuments, type WholeMessage } from '../search/record-rewritten.ts'
import type { StaleAccount } from '../../../accounts/halves/search-version.ts'
import { readStored } from './body-index.ts'
import { type ReadContent, recordContents } from '../messages/record-contents.ts'
import type { StoredContext } from './stored-source.ts'
import { type WalkPlace, walkOn } from './walk.ts'

const BATCH_MESSAGES_MAX = 100
/** Stored bodies whose words are in memory at once. The words of one body take up to 640 KB. */
const BODIES_AT_ONCE = 20

/** A message without a document, or with one of an earlier version. */
interface StaleMessage extends Omit<WholeMessage, 'words' | 'keepsWords'> {
  is_missing: boolean
}

interface RereadMessage extends WholeMessage {
  /** The facts from its stored body for its summary, or null if none was read. */
  content: ReadContent | null
}

interface RewriteContext extends StoredContext {
  reader: MessageReader
}

/**
 * Rewrites the next stale documents of an account as they would be written today, and commits them. A document whose
 * stored body cannot be read now is left out, or, with `keepsUnread`, keeps the words of that body.
 * @param below continues below this message; null starts at the newest
 */
export async function rewriteAccountBatch(
  context: RewriteContext,
  { id: accountId, tenant_id: tenantId }: StaleAccount,
  { below, keepsUnread }: { below: WalkPlace | null; keepsUnread: boolean },
): Promise<{ found: number; written: number; end: WalkPlace | null }> {
  const { db } = context
  const { found, end } = await listStale(db, accountId, below)
  await recordMissingDocuments(
    db,
    found.flatMap(({ id, is_missing }) => (is_missing ? [id] : [])),
  )
  let written = 0
  for (const messages of byBodies(found)) {
    const whole = await readBodies(context, { accountId, tenantId, keepsUnread }, messages)
    if (whole.length === 0) continue
    written += await inTransaction(db, tenantId, async unit => {
      const count = await rewriteDocuments(unit, whole)
      // Earlier releases made summaries only from the beginnings of messages.
      await recordContents(
        unit,
        whole.flatMap(({ content }) => content ?? []),
      )
      return count
    })
  }
  return { found: found.length, written, end }
}

/** Lists the next messages of an account whose document is missing or stale, newest first. */
export function listStale(
  db: Db,
  accountId: string,
  below: WalkPlace | null,
): Promise<{ found: StaleMessage[]; end: WalkPlace | null }> {
  const choose = (looked: RawBuilder<unknown>) => sql<StaleMessage>`
    select looked.id, looked.received_at, whole.*
    from ${looked}
    cross join lateral (
      select message.subject, message."from", message."to", message.cc, message.bcc, message.snippet,
        blob.id as "blobId", written.message_id is null as is_missing
      from message
      left join message_blob as blob on blob.message_id = message.id
      left join message_search as written on written.message_id = message.id
      where message.id = looked.id
    ) as whole
    where not exists (
      select from message_search where message_id = looked.id and version >= ${SEARCH_VERSION} offset 0
    )`
  return walkOn(db, accountId, { below, limit: BATCH_MESSAGES_MAX, choose })
}

/** Splits messages into groups with no more stored bodies than are kept in memory at once. */
function byBodies(messages: readonly StaleMessage[]): StaleMessage[][] {
  let bodies = 0
  const groups = Map.groupBy(messages, ({ blobId }) =>
    Math.floor((blobId === null ? bodies : bodies++) / BODIES_AT_ONCE),
  )
  return [...groups.values()]
}

async function readBodies(
  context: RewriteContext,
  { accountId, tenantId, keepsUnread }: { accountId: string; tenantId: string; keepsUnread: boolean },
  messages: readonly StaleMessage[],
): Promise<RereadMessage[]> {
  const hasBodies = messages.some(({ blobId }) => blobId !== null)
  const account = hasBodies ? await findAccountView(context.db, tenantId, accountId) : null
  const whole = await Promise.all(
    messages.map(async (message): Promise<RereadMessage | null> => {
      const unread = { ...message, words: null, content: null }
      if (message.blobId === null) return { ...unread, keepsWords: false }
      const read = account ? await readStored(context, account, message.id) : undefined
      if (read === undefined) return keepsUnread ? { ...unread, keepsWords: true } : null
      const content = read && { messageId: message.id, facts: read.facts }
      return { ...message, words: read?.words ?? null, keepsWords: false, content }
    }),
  )
  return whole.flatMap(message => message ?? [])
}
