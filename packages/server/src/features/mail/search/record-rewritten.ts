import { sql } from 'kysely'
import { binaryArray } from '../../../database/binary-array.ts'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { SEARCH_VERSION } from '../../../kit/search-text/version.ts'
import { documentOf, type Searchable } from './record.ts'

/** A message whose document is rewritten. */
export interface WholeMessage extends Searchable {
  /** The id of its stored body, or null. */
  blobId: string | null
  /** The words of that body (`bodyVector`), or null if it is too hard to read. */
  words: Uint8Array | null
  /** Whether the document keeps the words of the body that it has, since the body cannot be read. */
  keepsWords: boolean
}

/** Creates empty, stale documents for messages without one, so that bodies stored meanwhile find them. */
export async function recordMissingDocuments(db: Db, messageIds: readonly string[]): Promise<void> {
  if (messageIds.length === 0) return
  await sql`
    insert into message_search (message_id, account_id, received_at, document, version)
    select id, account_id, received_at, '', 0 from message
    where id = any(${messageIds}::uuid[]) order by id for key share skip locked
    on conflict do nothing
  `.execute(db)
}

/**
 * Rewrites existing documents as `recordDocuments` and `recordBodies` would write them today. Leaves out documents that
 * another transaction locks, and documents whose body was stored or deleted since it was read. @returns how many were
 * written
 */
export async function rewriteDocuments(
  unit: Pick<UnitOfWork, 'sql'>,
  messages: readonly WholeMessage[],
): Promise<number> {
  const held = await readSnippets(unit, await holdDocuments(unit, messages))
  if (held.length === 0) return 0
  // A document that stays the same touches neither the index nor its out-of-line storage.
  const { rows } = await sql<{ count: number }>`
    with read as (
      select message_id, blob_id, header, keeps_words,
        case when body is null then header else ts_filter(header, '{a,b,c}') || body end as document
      from unnest(
        ${held.map(({ id }) => id)}::uuid[],
        ${held.map(({ blobId }) => blobId)}::uuid[],
        ${vectors(held.map(message => documentOf(message)))}::tsvector[],
        ${vectors(held.map(({ words }) => words))}::tsvector[],
        ${held.map(({ keepsWords }) => keepsWords)}::boolean[]
      ) as read (message_id, blob_id, header, body, keeps_words)
    ),
    rewritten as (
      update message_search as search
      set document = case
          when keeps_words then ts_filter(header, '{a,b,c}') || ts_filter(search.document, '{d}')
          when search.document = read.document then search.document
          else read.document
        end,
        version = ${SEARCH_VERSION}
      from read
      where search.message_id = read.message_id and (read.blob_id is not null or not exists (
        select from message_blob where message_blob.message_id = read.message_id and is_indexed
      ))
      returning read.blob_id
    ),
    marked as (
      update message_blob set is_indexed = true from rewritten
      where message_blob.id = rewritten.blob_id and not is_indexed
    )
    select count(*)::int as count from rewritten
  `.execute(unit.sql)
  return rows[0]?.count ?? 0
}

/**
 * Reads the snippets under the locks: each correction of a snippet locks the document first. Leaves out deleted
 * messages.
 */
async function readSnippets(
  { sql: tx }: Pick<UnitOfWork, 'sql'>,
  messages: readonly WholeMessage[],
): Promise<WholeMessage[]> {
  const { rows } = await sql<{ id: string; snippet: string }>`
    select id, snippet from message where id = any(${messages.map(({ id }) => id)}::uuid[])
  `.execute(tx)
  const snippets = new Map(rows.map(({ id, snippet }) => [id, snippet]))
  return messages.flatMap(message => {
    const snippet = snippets.get(message.id)
    return snippet === undefined ? [] : { ...message, snippet }
  })
}

/** Locks bodies before documents, like `recordBodies`, and does not wait for locks. */
async function holdDocuments(
  { sql: tx }: Pick<UnitOfWork, 'sql'>,
  messages: readonly WholeMessage[],
): Promise<WholeMessage[]> {
  const blobs = await sql<{ id: string }>`
    select id from message_blob
    where id = any(${messages.flatMap(({ blobId }) => blobId ?? [])}::uuid[]) and message_id is not null
    order by id for update skip locked
  `.execute(tx)
  const documents = await sql<{ message_id: string }>`
    select message_id from message_search where message_id = any(${messages.map(({ id }) => id)}::uuid[])
    order by message_id for update skip locked
  `.execute(tx)
  const heldBlobs = new Set(blobs.rows.map(({ id }) => id))
  const heldDocuments = new Set(documents.rows.map(({ message_id }) => message_id))
  return messages.filter(
    ({ id, blobId }) => heldDocuments.has(id) && (blobId === null || heldBlobs.has(blobId)),
  )
}

const vectors = (documents: ReadonlyArray<Uint8Array | null>) => binaryArray('tsvector', documents)
