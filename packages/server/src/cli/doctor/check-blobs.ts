import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Config } from '../../config.ts'
import type { Db } from '../../database/pool.ts'
import type { ObjectStore } from '../../kit/blobs/object-store.ts'
import { findMark, knowsBlobs } from '../../start/blob-mark.ts'
import { openObjects } from '../../start/blobs.ts'
import { type Finding, ok, warning, wordsOf, wrong } from './finding.ts'

/** Whether stored messages can be kept and read, in the store of this installation. */
export async function checkBlobs(config: Config, db: Db | null): Promise<Finding[]> {
  try {
    const objects = await openObjects(config)
    // A folder is checked with its disk, and its first file may need other rights than those of this command.
    if (config.s3Bucket !== null) await tryAll(objects)
    const findings = db ? await compare(db, objects) : []
    return findings.length > 0 ? findings : [ok('blobs', `Stored messages are in ${objects.name}.`)]
  } catch (error) {
    return [wrong('blobs', wordsOf(error))]
  }
}

/** Writes, reads, lists and removes a small object. */
async function tryAll(objects: ObjectStore): Promise<void> {
  const key = `doctor-${randomUUID()}`
  const content = Buffer.from('written by "waxwing doctor"')
  await objects.put(key, content)
  try {
    const read = Buffer.concat(await Array.fromAsync((await objects.open(key)).content))
    if (!read.equals(content))
      throw new Error(`Reading from ${objects.name} gives other bytes than were written`)
    for await (const _ of objects.list('')) break
  } finally {
    await objects.remove(key)
  }
}

const SAME_STORE = 'Give every process the same WAXWING_BLOB_DIR or WAXWING_S3_BUCKET, and mount the folder.'

function elsewhere({ name }: ObjectStore, problem: string): string {
  return `Stored messages are kept elsewhere: ${name} ${problem}.`
}

async function compare(db: Db, objects: ObjectStore): Promise<Finding[]> {
  const { rows: known } = await sql<{ exists: boolean }>`
    select to_regclass('blob_mark') is not null as exists
  `.execute(db)
  if (!known[0]?.exists) return []
  const { rows } = await sql<{ isMarked: boolean; isRestored: boolean }>`
    select is_written as "isMarked", blob_mark.epoch <> feed_epoch.epoch as "isRestored" from blob_mark, feed_epoch
  `.execute(db)
  const { isMarked = false, isRestored = false } = rows[0] ?? {}
  const found = await findMark(db, objects)
  if (found === 'another') {
    const remedy = isRestored
      ? 'If no other database uses them, stop every process, and run: npx waxwing database restored'
      : SAME_STORE
    return [wrong('blobs', elsewhere(objects, 'holds the mark of another installation'), remedy)]
  }
  if (found === 'empty' && (isMarked || (await knowsBlobs(db))))
    return [wrong('blobs', elsewhere(objects, 'does not hold the mark of this one'), SAME_STORE)]
  if (!isRestored) return []
  return [
    warning(
      'blobs',
      'The database was restored, moved or failed over, and stored messages that it does not name are kept since.',
      'If no other database uses them, run: npx waxwing database restored',
    ),
  ]
}
