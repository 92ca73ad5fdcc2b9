import { sql } from 'kysely'
import type { Db } from '../../../database/pool.ts'
import type { UnitOfWork } from '../../../events/unit-of-work.ts'
import { cutIntoPieces } from '../../../kit/blobs/pieces.ts'
import { openFrames, type Sealing, sealFrames } from '../../../kit/blobs/sealed-frames.ts'
import type { AccountRow } from '../../../accounts/row.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { StoredContext } from './stored-source.ts'

/**
 * The content of a draft that its provider lost is kept in the database for a while (`kept_until` of its message), so
 * that it is durable together with the answer that reports the loss.
 */

/** Keeps the content of a message, in place of the copy kept before. */
export async function keepMessageCopy(
  unit: UnitOfWork,
  messageId: string,
  content: AsyncIterable<Buffer>,
  sealing: Sealing,
): Promise<void> {
  await sql`delete from message_copy where message_id = ${messageId}`.execute(unit.sql)
  let number = 0
  for await (const sealed of cutIntoPieces(sealFrames(content, sealing))) {
    await sql`
      insert into message_copy (message_id, number, sealed) values (${messageId}, ${number++}, ${sealed})
    `.execute(unit.sql)
  }
}

/** Opens the content that is kept of a message. */
export async function openCopy(
  { db, accountKeys }: Pick<StoredContext, 'db' | 'accountKeys'>,
  account: AccountRow,
  messageId: string,
): Promise<AsyncGenerator<Buffer, boolean>> {
  const content = openFrames(readPieces(db, messageId), accountKeys.blobSealing(account)(messageId))
  const first = await content.next()
  // It was deleted a moment ago.
  if (first.done) return refuse('provider_not_found')
  return (async function* all() {
    yield first.value
    yield* content
    return true
  })()
}

async function* readPieces(db: Db, messageId: string): AsyncGenerator<Buffer> {
  for (let number = 0; ; number++) {
    const { rows } = await sql<{ sealed: Buffer }>`
      select sealed from message_copy where message_id = ${messageId} and number = ${number}
    `.execute(db)
    if (!rows[0]) return
    yield rows[0].sealed
  }
}

const SWEPT_AT_ONCE = 100

/**
 * Deletes copies that are no longer needed. A draft whose time is over is deleted by the next pass of the sync, which
 * announces it.
 */
export async function sweepMessageCopies(db: Db, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const { numAffectedRows = 0n } = await sql`
      delete from message_copy where message_id in (
        select message_id from message_copy join message on message.id = message_id
        where kept_until is null or kept_until < clock_timestamp() group by message_id limit ${SWEPT_AT_ONCE}
      )
    `.execute(db)
    if (numAffectedRows === 0n) return
  }
}
