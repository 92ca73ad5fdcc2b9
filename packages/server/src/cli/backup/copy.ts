import { once } from 'node:events'
import { promisify } from 'node:util'
import { zstdCompress, zstdDecompress } from 'node:zlib'
import type { Client } from 'pg'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { PIECE_BYTES } from './backup-file.ts'
import { LONG_SECONDS, STALL_SECONDS, within } from './bounded.ts'
import type { CopiedTable } from './catalog.ts'

const compress = promisify(zstdCompress)
const decompress = promisify(zstdDecompress)

/** Reads the rows of a table in compressed pieces. @returns their number */
export async function* copyOut(client: Client, table: CopiedTable): AsyncGenerator<Buffer, number> {
  const stream = client.query(
    copyTo(`copy (select ${columnsOf(client, table)} from ${nameOf(client, table)}) to stdout`),
  )
  const chunks = stream[Symbol.asyncIterator]()
  let waiting: Buffer[] = []
  let length = 0
  for (;;) {
    const { done, value } = await within(client, STALL_SECONDS, chunks.next())
    if (!done) {
      // The stream yields buffers.
      waiting.push(value as Buffer)
      length += (value as Buffer).length
    }
    if (length > 0 && (done || length >= PIECE_BYTES)) {
      yield* cut(Buffer.concat(waiting, length))
      waiting = []
      length = 0
    }
    if (done) return stream.rowCount
  }
}

/** A row may be larger than a piece. */
async function* cut(rows: Buffer): AsyncGenerator<Buffer> {
  for (let at = 0; at < rows.length; at += PIECE_BYTES) yield compress(rows.subarray(at, at + PIECE_BYTES))
}

export interface CopyIn {
  write(piece: Buffer): Promise<void>
  /** @returns the number of rows that were loaded */
  end(): Promise<number>
}

export function copyIn(client: Client, table: CopiedTable): CopyIn {
  const stream = client.query(
    copyFrom(`copy ${nameOf(client, table)} (${columnsOf(client, table)}) from stdin`),
  )
  const finished = once(stream, 'finish')
  finished.catch(() => {}) // the next write, or `end`, rejects with it
  return {
    async write(piece) {
      const rows = await decompress(piece, { maxOutputLength: PIECE_BYTES })
      if (!stream.write(rows))
        await within(client, STALL_SECONDS, Promise.race([once(stream, 'drain'), finished]))
    },
    async end() {
      stream.end()
      await within(client, LONG_SECONDS, finished)
      return stream.rowCount
    },
  }
}

function nameOf(client: Client, { name }: CopiedTable) {
  return client.escapeIdentifier(name)
}

function columnsOf(client: Client, { columns }: CopiedTable) {
  return columns.map(column => client.escapeIdentifier(column)).join(', ')
}
