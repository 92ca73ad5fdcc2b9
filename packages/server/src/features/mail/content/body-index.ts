import { sql } from 'kysely'
import { runAlone } from '../../../database/alone.ts'
import type { Db } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { WokenLoop } from '../../../jobs/woken-loop.ts'
import { type MessageReader, type ReadBody, ReaderLost } from '../../../kit/mime/message-reader.ts'
import type { AccountRow } from '../../accounts/accounts/account.ts'
import { findAccountView } from '../../accounts/accounts/store.ts'
import { recordBodies } from '../search/record.ts'
import { type ReadContent, recordContents } from '../messages/record-contents.ts'
import { openStored, type StoredContext } from './stored-source.ts'

const BATCH_BODIES = 20
/** Interval of the search for bodies whose indexing failed or whose process died. */
const LOOK_SECONDS = 60
/** Seconds until the next look for a body that was just stored, while another process indexes. */
const BUSY_SECONDS = 1

export interface BodyIndexContext extends StoredContext {
  /** Separate from the reader of the API, so that callers do not wait for messages that are being indexed. */
  reader: MessageReader
  /**
   * Whether this process also looks for bodies that another one stored and did not index. Otherwise it looks only when
   * woken.
   */
  isPolled: boolean
}

/** Adds the words of stored bodies to the index. */
export interface BodyIndex extends AsyncDisposable {
  /** Announces that a body was stored. Returns at once and never throws. */
  wake(): void
}

export function openBodyIndex(context: BodyIndexContext): BodyIndex {
  const { db, log } = context
  /** Whether a body was stored here since the last run began. */
  let isWanted = false
  async function look(signal: AbortSignal): Promise<number> {
    if (!isWanted && !context.isPolled) return LOOK_SECONDS
    const wasWanted = isWanted
    isWanted = false
    let isDone = false
    try {
      isDone = await runAlone(db, 'stored_bodies', () => indexAll(context, signal))
    } finally {
      if (!isDone) isWanted ||= wasWanted
    }
    return isWanted ? BUSY_SECONDS : LOOK_SECONDS
  }
  const loop = new WokenLoop({ look, failure: 'Stored bodies could not be indexed', log })
  return {
    wake() {
      isWanted = true
      loop.wake()
    },
    [Symbol.asyncDispose]: () => loop[Symbol.asyncDispose](),
  }
}

interface StoredRow {
  id: string
  message_id: string
  tenant_id: string
  account_id: string
}

async function indexAll(context: BodyIndexContext, signal: AbortSignal): Promise<void> {
  let after = '00000000-0000-0000-0000-000000000000'
  while (!signal.aborted) {
    const rows = await listUnindexed(context.db, after)
    const last = rows.at(-1)
    if (!last) return
    after = last.id
    for (const [tenantId, ofTenant] of Map.groupBy(rows, row => row.tenant_id)) {
      const read = await Promise.all(ofTenant.map(row => readBody(context, row)))
      const bodies = read.flatMap(body => body ?? [])
      if (bodies.length === 0) continue
      await inTransaction(context.db, tenantId, async unit => {
        await recordBodies(unit, bodies)
        await recordContents(
          unit,
          bodies.flatMap(({ content }) => content ?? []),
        )
      })
    }
  }
}

async function listUnindexed(db: Db, after: string): Promise<StoredRow[]> {
  const { rows } = await sql<StoredRow>`
    select blob.id, blob.message_id, blob.tenant_id, blob.account_id
    from message_blob as blob join account on account.id = blob.account_id
    where blob.message_id is not null and not blob.is_indexed and blob.id > ${after} and account.deleted_at is null
      and exists (select from message_search where message_search.message_id = blob.message_id offset 0)
    order by blob.id limit ${BATCH_BODIES}
  `.execute(db)
  return rows
}

/** Returns null if it must be tried again. */
async function readBody(
  context: BodyIndexContext,
  { id, message_id, tenant_id, account_id }: StoredRow,
): Promise<{ blobId: string; words: Uint8Array | null; content: ReadContent | null } | null> {
  const account = await findAccountView(context.db, tenant_id, account_id)
  const read = account ? await readStored(context, account, message_id) : undefined
  if (read === undefined) return null
  return {
    blobId: id,
    words: read?.words ?? null,
    content: read && { messageId: message_id, facts: read.facts },
  }
}

/**
 * Reads the words and the facts of a stored body. Null if it is too hard to read. Undefined if nothing is stored, or it
 * cannot be read now.
 */
export async function readStored(
  context: StoredContext & { reader: MessageReader },
  account: AccountRow,
  messageId: string,
): Promise<ReadBody | null | undefined> {
  try {
    const content = await openStored(context, account, messageId)
    return content === 'none' || content === 'unreadable'
      ? undefined
      : await context.reader.readWords(content)
  } catch (error) {
    // A thread that ended because of another message says nothing about this one.
    if (!(error instanceof ReaderLost))
      context.log.warn({ error, accountId: account.id }, 'A stored message could not be indexed')
    return undefined
  }
}
