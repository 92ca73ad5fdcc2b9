import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { WokenLoop } from '../../../processes/woken-loop.ts'
import { type MessageReader, type ReadBody, ReaderLost } from '../../../kit/mime/message-reader.ts'
import type { AccountRow } from '../../../accounts/row.ts'
import { findAccountView } from '../../../accounts/store.ts'
import { recordBodies } from '../search/record.ts'
import { type ReadContent, recordContents } from '../messages/record-contents.ts'
import { openStored, type StoredContext } from './stored-source.ts'

const BATCH_BODIES = 20
/** Bodies that one statement looks at; bodies of accounts that other processes follow are left to them. */
const LOOKED_AT_MAX = 100
/** Interval of the search for bodies whose indexing failed or whose process died. */
const LOOK_SECONDS = 60

export interface BodyIndexContext extends StoredContext {
  /** Separate from the reader of the API, so that callers do not wait for messages that are being indexed. */
  reader: MessageReader
  /** The id under which this process owns accounts now; null if it follows none. */
  findOwnerId(): string | null
  /** Whether this process follows the account. */
  isFollowed(accountId: string): boolean
  /** Wakes the process that follows the account, if there is one. */
  tellOwner(accountId: string): void
}

/** Adds the words of stored bodies to the index, in the process that follows their account. */
export interface BodyIndex extends AsyncDisposable {
  /** Announces that a body of the account was stored, by any process. Returns at once and never throws. */
  wake(accountId: string): void
  /** Looks for bodies to index if this process follows one of the accounts. Returns at once and never throws. */
  look(accountIds: readonly string[]): void
}

export function openBodyIndex(context: BodyIndexContext): BodyIndex {
  const { log } = context
  async function indexOwn(signal: AbortSignal): Promise<number> {
    const ownerId = context.findOwnerId()
    if (ownerId !== null) await indexAll(context, ownerId, signal)
    return LOOK_SECONDS
  }
  const loop = new WokenLoop({ look: indexOwn, failure: 'Stored bodies could not be indexed', log })
  const look = (accountIds: readonly string[]) => {
    if (accountIds.some(id => context.isFollowed(id))) loop.wake()
  }
  return {
    look,
    wake(accountId) {
      if (context.isFollowed(accountId)) loop.wake()
      else context.tellOwner(accountId)
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

async function indexAll(context: BodyIndexContext, ownerId: string, signal: AbortSignal): Promise<void> {
  let after: string | null = '00000000-0000-0000-0000-000000000000'
  while (!signal.aborted && after !== null) {
    const { own, end } = await listUnindexed(context.db, { ownerId, after })
    after = end
    for (let at = 0; at < own.length && !signal.aborted; at += BATCH_BODIES)
      await indexBatch(context, own.slice(at, at + BATCH_BODIES))
  }
}

async function indexBatch(context: BodyIndexContext, rows: readonly StoredRow[]): Promise<void> {
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

/** The next bodies to index of accounts with this owner, and where to continue; null at the end. */
export async function listUnindexed(
  db: Db,
  { ownerId, after }: { ownerId: string; after: string },
): Promise<{ own: StoredRow[]; end: string | null }> {
  const { rows } = await sql<StoredRow & { is_own: boolean }>`
    with looked as (
      select id, message_id, tenant_id, account_id from message_blob
      where message_id is not null and not is_indexed and id > ${after}
      order by id limit ${LOOKED_AT_MAX}
    )
    select looked.*, account.owner_instance is not distinct from ${ownerId}::uuid and account.deleted_at is null
      and exists (select from message_search where message_search.message_id = looked.message_id offset 0) as is_own
    from looked join account on account.id = looked.account_id
    order by looked.id
  `.execute(db)
  return {
    own: rows.filter(row => row.is_own),
    end: rows.length < LOOKED_AT_MAX ? null : rows.at(-1)!.id,
  }
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
      : await context.reader.readWords(account.tenant_id, content)
  } catch (error) {
    // A thread may have ended because of another message, so its end is no error of this one.
    if (!(error instanceof ReaderLost))
      context.log.warn({ error, accountId: account.id }, 'A stored message could not be indexed')
    return undefined
  }
}
