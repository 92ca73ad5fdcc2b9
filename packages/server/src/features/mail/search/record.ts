import { sql } from 'kysely'
import { binaryArray } from '../../../database/binary-array.ts'
import { plainArray } from '../../../database/plain-array.ts'
import { executeUnawaited } from '../../../database/unawaited.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { bodyVector, documentVector } from '../../../kit/search-text/document.ts'
import { SEARCH_VERSION } from '../../../kit/search-text/version.ts'
import type { RemoteAddress } from '../../../providers/mail.ts'
import { lowerVersions } from '../../../accounts/halves/search-version.ts'

/** The fields by which a message is found. */
export interface Searchable {
  id: string
  received_at: Date
  subject: string | null
  from: RemoteAddress | null
  to: readonly RemoteAddress[]
  cc: readonly RemoteAddress[]
  bcc: readonly RemoteAddress[]
  snippet: string
}

/** Writes the search documents of new and changed messages, in the transaction of their rows. */
export async function recordDocuments(
  unit: Pick<UnitOfWork, 'sql'>,
  accountId: string,
  messages: readonly Searchable[],
): Promise<void> {
  const writing = sql`
    with lowered as (${lowerVersions(sql`${accountId}`)})
    insert into message_search (message_id, account_id, received_at, document, version)
    select message_id, ${accountId}::uuid, received_at, document, ${SEARCH_VERSION}::smallint
    from unnest(
      ${plainArray(messages.map(({ id }) => id))}::uuid[],
      ${plainArray(messages.map(({ received_at }) => received_at.toISOString()))}::timestamptz[],
      ${vectors(messages.map(message => documentOf(message)))}::tsvector[]
    ) as arrived (message_id, received_at, document)
    on conflict (message_id) do update set received_at = excluded.received_at, document = excluded.document`
  await executeUnawaited(unit.sql, writing)
}

/**
 * Replaces snippets by the words of stored bodies (`bodyVector`) that are still stored. One without words keeps its
 * snippet. A message without a document is left to the rewriter, which also reads its body.
 */
export async function recordBodies(
  unit: Pick<UnitOfWork, 'sql'>,
  bodies: ReadonlyArray<{ blobId: string; words: Uint8Array | null }>,
): Promise<void> {
  await sql`
    with read as (
      select * from unnest(
        ${bodies.map(({ blobId }) => blobId)}::uuid[],
        ${vectors(bodies.map(({ words }) => words))}::tsvector[]
      ) as read (blob_id, words)
    ),
    held as (
      select id from message_blob
      where id in (select blob_id from read) and message_id is not null and not is_indexed
        and exists (select from message_search where message_search.message_id = message_blob.message_id)
      order by id for update
    ),
    stored as (
      update message_blob set is_indexed = true from held where message_blob.id = held.id
      returning message_blob.id, message_id, account_id
    ),
    lowered as (${lowerVersions(sql`select account_id from stored`)})
    update message_search
    set document = ts_filter(document, '{a,b,c}') || read.words, version = least(version, ${SEARCH_VERSION})
    from stored join read on read.blob_id = stored.id
    where message_search.message_id = stored.message_id and read.words is not null
  `.execute(unit.sql)
}

/**
 * Replaces stored bodies by snippets again, before the bodies are deleted in the same transaction. Accounts that are
 * about to be purged are left as they are.
 */
export async function recordSnippets(
  unit: Pick<UnitOfWork, 'sql'>,
  blobIds: readonly string[],
): Promise<void> {
  const { rows } = await sql<{ id: string; snippet: string }>`
    with held as (
      select id from message_blob where id = any(${blobIds}::uuid[]) and is_indexed order by id for update
    ),
    freed as (
      update message_blob set is_indexed = false from held where message_blob.id = held.id
      returning message_id, message_blob.account_id
    ),
    lowered as (${lowerVersions(sql`select account_id from freed`)})
    select message.id, message.snippet
    from freed join message on message.id = freed.message_id join account on account.id = message.account_id
    where account.deleted_at is null
  `.execute(unit.sql)
  if (rows.length === 0) return
  await sql`
    update message_search
    set document = ts_filter(document, '{a,b,c}') || kept.words, version = least(version, ${SEARCH_VERSION})
    from unnest(
      ${rows.map(({ id }) => id)}::uuid[],
      ${vectors(rows.map(({ snippet }) => bodyVector(snippet)))}::tsvector[]
    ) as kept (message_id, words)
    where message_search.message_id = kept.message_id
  `.execute(unit.sql)
}

/**
 * Adds the words of snippets that were empty to documents, except to documents that hold the words of a stored body.
 */
export async function recordFilledSnippets(
  unit: Pick<UnitOfWork, 'sql'>,
  messages: ReadonlyArray<{ id: string; snippet: string }>,
): Promise<void> {
  if (messages.length === 0) return
  await sql`
    update message_search set document = ts_filter(document, '{a,b,c}') || filled.words
    from unnest(
      ${messages.map(({ id }) => id)}::uuid[],
      ${vectors(messages.map(({ snippet }) => bodyVector(snippet)))}::tsvector[]
    ) as filled (message_id, words)
    where message_search.message_id = filled.message_id
      and not exists (
        select from message_blob where message_blob.message_id = filled.message_id and message_blob.is_indexed
      )
  `.execute(unit.sql)
}

const vectors = (documents: ReadonlyArray<Uint8Array | null>) => binaryArray('tsvector', documents)

/** The document of a message by the rules of this release, until its stored body replaces the snippet. */
export function documentOf({
  subject,
  from,
  to,
  cc,
  bcc,
  snippet,
}: Omit<Searchable, 'id' | 'received_at'>): Buffer {
  return documentVector({
    subject,
    sender: from ? linesOf([from]) : [],
    recipients: linesOf([...to, ...cc, ...bcc]),
    text: snippet,
  })
}

function linesOf(addresses: readonly RemoteAddress[]): string[] {
  return addresses.flatMap(({ name, address }) => (name === null ? [address] : [name, address]))
}
