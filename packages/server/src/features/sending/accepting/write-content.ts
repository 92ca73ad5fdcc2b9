import type { WrittenContent, WrittenTail } from './written-content.ts'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, zstdCompressSync } from 'node:zlib'
import { sql } from 'kysely'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { cutIntoPieces } from '../../../kit/blobs/pieces.ts'
import { sealFrames, type Sealing } from '../../../kit/blobs/sealed-frames.ts'
import { newId } from '../../../kit/ids.ts'
import { removeContent, SMALL_BYTES } from '../outbox/content.ts'

/** A composed message, or the common end of several. */
export interface ContentSource<Layout> {
  layout: Layout
  /** Bytes; null if that is not known. */
  byteLength: number | null
  open(): AsyncIterable<Uint8Array>
}

type Step = <T>(work: (unit: UnitOfWork) => Promise<T>) => Promise<T>

export interface ContentTarget {
  accountId: string
  sealingOf: (contentId: string) => Sealing
  step: Step
  /** Waits until there is room for one more large content; disposing gives it back. */
  enterLarge(): Promise<Disposable>
}

/** Reads a composed message once and writes it, piece by piece if it is large. */
export async function writeContent<Layout>(
  source: ContentSource<Layout>,
  to: ContentTarget,
  tail: WrittenTail | null = null,
): Promise<WrittenContent> {
  const { sealingOf, step } = to
  const id = newId()
  const counted = countBytes(source.open())
  const sealed = cutIntoPieces(sealFrames(compress(counted.bytes, source.byteLength, to), sealingOf(id)))
  const first = (await sealed.next()).value ?? Buffer.alloc(0)
  const second = await sealed.next()
  const { layout } = source
  if (second.done) return { id, layout, bytes: counted.count(), piece: first, tail }
  try {
    await step(async unit => {
      await insertUnbound(unit, to.accountId, [{ id, layout, bytes: 0, piece: first, tail }])
      await insertPiece(unit, id, 1, second.value)
    })
    let number = 2
    for await (const piece of sealed) {
      const at = number++
      await step(unit => insertPiece(unit, id, at, piece))
    }
  } catch (error) {
    await sealed.return(undefined)
    await step(unit => removeContent(unit, [id]))
    throw error
  }
  return { id, layout, bytes: counted.count(), piece: null, tail }
}

/** Writes the common end of several messages. */
export async function writeTail(
  open: () => AsyncIterable<Uint8Array>,
  to: ContentTarget,
): Promise<WrittenTail> {
  const written = await writeContent({ layout: {}, byteLength: null, open }, to)
  const { id, bytes } = written
  await to.step(async unit => {
    if (written.piece !== null) await insertUnbound(unit, to.accountId, [written])
    else await sql`update outbox_content set bytes = ${bytes} where id = ${id}`.execute(unit.sql)
  })
  return { id, bytes }
}

/** Writes content that waits in memory, so that there is room for more. */
export async function writeDown(contents: readonly WrittenContent[], to: ContentTarget): Promise<void> {
  await to.step(unit => insertUnbound(unit, to.accountId, contents))
  for (const content of contents) content.piece = null
}

async function insertUnbound(
  unit: UnitOfWork,
  accountId: string,
  contents: readonly WrittenContent[],
): Promise<void> {
  const { rows, blob } = contentRows(contents)
  await sql`
    with asked as (
      select * from json_to_recordset(${JSON.stringify(rows)}) as asked (${contentRowColumns})
    ), added as (
      insert into outbox_content (id, account_id, layout, bytes, tail_id)
      select content_id, ${accountId}, layout, bytes, tail_id from asked returning id
    )
    insert into outbox_piece (content_id, number, sealed)
    select content_id, 0, substring(${blob}::bytea from piece_at for piece_bytes) from asked
  `.execute(unit.sql)
}

/** Contents as JSON, with their pieces in one value. */
export function contentRows(contents: readonly WrittenContent[]) {
  let at = 1
  const rows = contents.map(({ id, layout, bytes, piece, tail }) => {
    const row = {
      content_id: id,
      layout,
      bytes,
      tail_id: tail?.id ?? null,
      piece_at: at,
      piece_bytes: piece?.length ?? null,
    }
    at += piece?.length ?? 0
    return row
  })
  return { rows, blob: Buffer.concat(contents.flatMap(({ piece }) => piece ?? [])) }
}

/** The columns of `contentRows`; `piece_bytes` is null if the pieces are written already. */
export const contentRowColumns = sql`
  content_id uuid, layout jsonb, bytes bigint, tail_id uuid, piece_at integer, piece_bytes integer`

async function insertPiece(unit: UnitOfWork, id: string, number: number, sealed: Buffer): Promise<void> {
  await sql`
    insert into outbox_piece (content_id, number, sealed) values (${id}, ${number}, ${sealed})
  `.execute(unit.sql)
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

/**
 * Compresses small content at once: setting up a stream takes much longer. Content that is known to be large is not
 * read before there is room for it, so that it holds no memory while it waits.
 */
async function* compress(
  source: AsyncGenerator<Uint8Array>,
  byteLength: number | null,
  { enterLarge }: ContentTarget,
): AsyncGenerator<Buffer> {
  const headMax = byteLength !== null && byteLength > SMALL_BYTES ? 0 : SMALL_BYTES
  const head: Uint8Array[] = []
  let bytes = 0
  while (bytes < headMax) {
    const next = await source.next()
    // Otherwise it sets up tables for content of any size.
    if (next.done) return yield zstdCompressSync(Buffer.concat(head), { pledgedSrcSize: bytes })
    head.push(next.value)
    bytes += next.value.length
  }
  using _ = await enterLarge()
  async function* whole() {
    yield* head
    yield* source
  }
  const compressing = createZstdCompress()
  const done = pipeline(whole(), compressing)
  done.catch(() => undefined)
  yield* compressing as AsyncIterable<Buffer>
  await done
}
