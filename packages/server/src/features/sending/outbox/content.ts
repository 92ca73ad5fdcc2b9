import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { openFrames, sealFrames, type Sealing } from '../../../kit/blobs/sealed-frames.ts'
import { newId } from '../../../kit/ids.ts'

/*
 * The content of sends is kept in the database: what is accepted is durable with the commit that accepts it, and is in
 * every backup. It is compressed, sealed with the account's key, and cut into pieces.
 */

const PIECE_BYTES = 1024 * 1024
/** Content up to this size is written by the transaction that accepts it. */
const SMALL_BYTES = 1024 * 1024
/** Content up to this size is read together with what is known of it. */
const READ_AHEAD_BYTES = 256 * 1024
/** Nobody writes the content of one send for so long. */
const WRITE_HOURS_MAX = 6
const SWEEP_ROWS = 100

/** A composed message. */
export interface ContentSource<Layout> {
  layout: Layout
  open(): AsyncIterable<Uint8Array>
}

/** Content whose pieces are written, or wait for the transaction that binds them to an entry. */
export interface WrittenContent {
  id: string
  layout: unknown
  bytes: number
  /** All of it where it is small; null where its pieces are written already. */
  piece: Buffer | null
}

type Step = <T>(work: (unit: UnitOfWork) => Promise<T>) => Promise<T>

/** Reads a composed message once and writes it, piece by piece where it is large. */
export async function writeContent<Layout>(
  source: ContentSource<Layout>,
  to: { accountId: string; sealingOf: (contentId: string) => Sealing; step: Step },
): Promise<WrittenContent> {
  const { accountId, sealingOf, step } = to
  const id = newId()
  const counted = countBytes(source.open())
  const sealed = cutIntoPieces(sealFrames(compress(counted.bytes), sealingOf(id)))
  const first = (await sealed.next()).value ?? Buffer.alloc(0)
  const second = await sealed.next()
  if (second.done) return { id, layout: source.layout, bytes: counted.count(), piece: first }
  try {
    await step(async unit => {
      await sql`
        insert into outbox_content (id, account_id, layout, bytes)
        values (${id}, ${accountId}, ${JSON.stringify(source.layout)}, 0)
      `.execute(unit.sql)
      await insertPiece(unit, id, 0, first)
      await insertPiece(unit, id, 1, second.value)
    })
    let number = 2
    for await (const piece of sealed) {
      const at = number++
      await step(unit => insertPiece(unit, id, at, piece))
    }
  } catch (error) {
    await step(unit => removeContent(unit, id))
    throw error
  }
  return { id, layout: source.layout, bytes: counted.count(), piece: null }
}

/**
 * Makes written content that of an entry: common table expressions for the statement that inserts it. `bound` has no
 * row where the content was swept.
 * @param entry the entry's `id` and `account_id`
 */
export function bindingContent(
  { id, layout, bytes, piece }: WrittenContent,
  entry: RawBuilder<unknown>,
): RawBuilder<unknown> {
  if (piece === null)
    return sql`bound as (
      update outbox_content set outbox_id = entry.id, bytes = ${bytes}
      from ${entry} as entry where outbox_content.id = ${id} and outbox_id is null returning outbox_content.id
    )`
  return sql`bound as (
      insert into outbox_content (id, account_id, outbox_id, layout, bytes)
      select ${id}, entry.account_id, entry.id, ${JSON.stringify(layout)}::jsonb, ${bytes} from ${entry} as entry
      returning id
    ), piece as (
      insert into outbox_piece (content_id, number, sealed) select id, 0, ${piece} from bound
    )`
}

/** Reads content that was written, before it is bound. It may be read again. */
export function openWritten(
  db: Db,
  { id, bytes, piece }: WrittenContent,
  sealing: Sealing,
): AsyncGenerator<Buffer> {
  return decompress(openFrames(piece ? [piece] : readPieces(db, id), sealing), bytes)
}

/** Removes written content that no entry needs. */
export async function removeContent(unit: Pick<UnitOfWork, 'sql'>, id: string): Promise<void> {
  await sql`delete from outbox_content where id = ${id} and outbox_id is null`.execute(unit.sql)
}

/** Content that is bound to an entry. */
export interface BoundContent {
  id: string
  layout: unknown
  byteLength: number
  open(sealing: Sealing): AsyncGenerator<Buffer>
}

/** The contents of entries, by the entry's id; those that are gone are left out. */
export async function findContents(db: Db, outboxIds: readonly string[]): Promise<Map<string, BoundContent>> {
  const { rows } = await sql<ContentRow>`
    select content.outbox_id, content.id, content.layout, content.bytes::float8 as bytes, piece.sealed
    from outbox_content as content
    left join outbox_piece as piece
      on piece.content_id = content.id and piece.number = 0 and content.bytes <= ${READ_AHEAD_BYTES}
        and not exists (select from outbox_piece where content_id = content.id and number = 1)
    where content.outbox_id = any(${[...outboxIds]}::uuid[])
  `.execute(db)
  return new Map(rows.map(row => [row.outbox_id, toBound(db, row)]))
}

interface ContentRow {
  outbox_id: string
  id: string
  layout: unknown
  bytes: number
  /** All of it where it is small. */
  sealed: Buffer | null
}

function toBound(db: Db, { id, layout, bytes, sealed }: ContentRow): BoundContent {
  return {
    id,
    layout,
    byteLength: bytes,
    open: sealing => decompress(openFrames(sealed ? [sealed] : readPieces(db, id), sealing), bytes),
  }
}

/** Deletes content that was written, but no entry was made of. */
export async function sweepContent(db: Db, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { numAffectedRows = 0n } = await sql`
      delete from outbox_content where id in (
        -- A row that is being bound is locked, and is passed over.
        select id from outbox_content
        where outbox_id is null and created_at < clock_timestamp() - make_interval(hours => ${WRITE_HOURS_MAX})
        limit ${SWEEP_ROWS} for update skip locked
      ) and outbox_id is null
    `.execute(db)
    if (numAffectedRows < SWEEP_ROWS) break
  }
}

async function insertPiece(unit: UnitOfWork, id: string, number: number, sealed: Buffer): Promise<void> {
  await sql`
    insert into outbox_piece (content_id, number, sealed) values (${id}, ${number}, ${sealed})
  `.execute(unit.sql)
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

async function* cutIntoPieces(frames: AsyncIterable<Buffer>): AsyncGenerator<Buffer, undefined> {
  let waiting: Buffer[] = []
  let bytes = 0
  for await (const frame of frames) {
    waiting.push(frame)
    bytes += frame.length
    if (bytes < PIECE_BYTES) continue
    yield Buffer.concat(waiting)
    waiting = []
    bytes = 0
  }
  if (bytes > 0) yield Buffer.concat(waiting)
}

function countBytes(source: AsyncIterable<Uint8Array>) {
  let count = 0
  async function* counting() {
    for await (const bytes of source) {
      count += bytes.length
      yield bytes
    }
  }
  return { bytes: counting(), count: () => count }
}

/** Small content at once: setting up a stream takes much longer than compressing it. */
async function* compress(source: AsyncGenerator<Uint8Array>): AsyncGenerator<Buffer> {
  const head: Uint8Array[] = []
  let bytes = 0
  while (bytes < SMALL_BYTES) {
    const next = await source.next()
    if (next.done) return yield zstdCompressSync(Buffer.concat(head))
    head.push(next.value)
    bytes += next.value.length
  }
  async function* whole() {
    yield* head
    yield* source
  }
  const compressing = createZstdCompress()
  const done = pipeline(Readable.from(whole()), compressing)
  done.catch(() => undefined)
  yield* compressing as AsyncIterable<Buffer>
  await done
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
