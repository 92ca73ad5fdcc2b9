import { pipeline } from 'node:stream/promises'
import { createZstdDecompress, zstdDecompressSync } from 'node:zlib'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { openFrames, type Sealing } from '../../../kit/blobs/sealed-frames.ts'
import type { WrittenContent } from '../accepting/written-content.ts'

/**
 * The content of sends is kept in the database: an accepted send is durable with the commit that accepts it, and is in
 * every backup. It is compressed, sealed with the account's key, and cut into pieces. The files of a mail merge are
 * kept once, as the tail of its messages.
 */

/** Content up to this size is compressed at once, and written by the transaction that accepts it. */
export const SMALL_BYTES = 1024 * 1024
/** Content up to this size is read together with its row. */
const READ_AHEAD_BYTES = 256 * 1024
/** Writing the content of one request takes less than this: older content without an entry is left over. */
const WRITE_HOURS_MAX = 6
const SWEEP_ROWS = 100

/** Reads content that was written, before it is bound. It may be read again. */
export function openWritten(
  db: Db,
  { id, bytes, piece }: WrittenContent,
  sealing: Sealing,
): AsyncGenerator<Buffer> {
  return decompress(openFrames(piece ? [piece] : readPieces(db, id), sealing), bytes)
}

/** Removes written content that no entry needs. */
export async function removeContent(unit: Pick<UnitOfWork, 'sql'>, ids: readonly string[]): Promise<void> {
  await sql`
    delete from outbox_content where id = any(${[...ids]}::uuid[]) and outbox_id is null
  `.execute(unit.sql)
}

/** Content that is bound to an entry. */
export interface BoundContent {
  layout: unknown
  byteLength: number
  /** @param sealingOf the sealing of each part of the content, by its id */
  open(sealingOf: (contentId: string) => Sealing): AsyncGenerator<Buffer>
}

/** The contents of entries, by the entry's id; contents that are gone are left out. */
export async function findContents(db: Db, outboxIds: readonly string[]): Promise<Map<string, BoundContent>> {
  const { rows } = await sql<ContentRow>`
    select content.outbox_id, content.id, content.layout, content.bytes::float8 as bytes, piece.sealed,
      content.tail_id, tail.bytes::float8 as tail_bytes
    from outbox_content as content
    left join outbox_content as tail on tail.id = content.tail_id
    left join outbox_piece as piece
      on piece.content_id = content.id and piece.number = 0 and content.bytes <= ${READ_AHEAD_BYTES}
        and not exists (select from outbox_piece where content_id = content.id and number = 1)
    where content.outbox_id = any(${[...outboxIds]}::uuid[])
      -- Without its files it would be another message.
      and (content.tail_id is null or tail.id is not null)
  `.execute(db)
  return new Map(rows.map(row => [row.outbox_id, toBound(db, row)]))
}

interface ContentRow {
  outbox_id: string
  id: string
  layout: unknown
  bytes: number
  /** All of it if it is small. */
  sealed: Buffer | null
  tail_id: string | null
  tail_bytes: number | null
}

function toBound(db: Db, { id, layout, bytes, sealed, ...tail }: ContentRow): BoundContent {
  return {
    layout,
    byteLength: bytes + (tail.tail_bytes ?? 0),
    async *open(sealingOf) {
      yield* decompress(openFrames(sealed ? [sealed] : readPieces(db, id), sealingOf(id)), bytes)
      if (tail.tail_id !== null)
        yield* decompress(
          openFrames(readPieces(db, tail.tail_id), sealingOf(tail.tail_id)),
          tail.tail_bytes ?? 0,
        )
    },
  }
}

/**
 * Deletes content, and the tail that nothing else has: common table expressions. If the last two messages of a merge end
 * at the same time, the sweep deletes their tail.
 * @param which a condition on `content`
 */
export function discardingContent(which: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`discarded as (
      delete from outbox_content as content where ${which} returning id, tail_id
    ), untailed as (
      delete from outbox_content as tail using discarded
      where tail.id = discarded.tail_id and not exists (
        select from outbox_content as other
        where other.tail_id = tail.id and not other.id in (select id from discarded))
    )`
}

/** Deletes written content of which no entry was made, or which no entry needs any more. */
export async function sweepContent(db: Db, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { numAffectedRows = 0n } = await sql`
      delete from outbox_content where id in (
        -- A row that is being bound is locked, and is passed over.
        select id from outbox_content as unbound
        where outbox_id is null and created_at < clock_timestamp() - make_interval(hours => ${WRITE_HOURS_MAX})
          and not exists (select from outbox_content as content where content.tail_id = unbound.id)
        limit ${SWEEP_ROWS} for update skip locked
      ) and outbox_id is null
    `.execute(db)
    if (numAffectedRows < SWEEP_ROWS) break
  }
}

async function* readPieces(db: Db, id: string): AsyncGenerator<Buffer> {
  for (let number = 0; ; number++) {
    const { rows } = await sql<{ sealed: Buffer }>`
      select sealed from outbox_piece where content_id = ${id} and number = ${number}
    `.execute(db)
    if (!rows[0]) return
    yield rows[0].sealed
  }
}

async function* decompress(sealed: AsyncIterable<Buffer>, bytes: number): AsyncGenerator<Buffer> {
  if (bytes <= SMALL_BYTES) {
    const frames: Buffer[] = []
    for await (const frame of sealed) frames.push(frame)
    return yield zstdDecompressSync(Buffer.concat(frames), { maxOutputLength: SMALL_BYTES })
  }
  const plain = createZstdDecompress()
  const opened = pipeline(sealed, plain)
  opened.catch(() => undefined)
  try {
    yield* plain as AsyncIterable<Buffer>
  } catch (error) {
    // The first error, not the one that the rest was then cut off.
    await opened
    throw error
  } finally {
    plain.destroy()
  }
}
