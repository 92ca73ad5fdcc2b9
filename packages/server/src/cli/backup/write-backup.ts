import type { Client } from 'pg'
import product from '../../../package.json' with { type: 'json' }
import { blobKey } from '../../kit/blobs/blob-key.ts'
import type { ObjectStore } from '../../kit/blobs/object-store.ts'
import { holdsMark } from '../../start/blob-mark.ts'
import { CommandError } from '../command-error.ts'
import { type BackupEnding, type BackupHeader, type BackupWriter, createBackup } from './backup-file.ts'
import { ask } from './bounded.ts'
import { openStoredFile } from './blob-files.ts'
import { LEFT_OUT, listSequences, listTables, SESSION_SETTINGS } from './catalog.ts'
import { copyOut } from './copy.ts'
import type { Progress } from './progress.ts'

export interface BackupOptions {
  client: Client
  file: string
  objects: ObjectStore
  /** The master keys, if they should be included. */
  keys: string[] | null
  progress: Progress
}

const FILES_PER_FETCH = 200

/**
 * Writes the database as it is at one moment, and the stored files that it refers to. Works while a service runs,
 * too.
 */
export async function writeBackup(options: BackupOptions): Promise<BackupEnding & { bytes: number }> {
  const { client, file, objects, keys, progress } = options
  await ask(client, SESSION_SETTINGS)
  await ask(client, 'begin isolation level repeatable read read only')
  const header = await readHeader(client, keys !== null)
  await using writer = await createBackup(file)
  await writer.write('H', header)
  if (keys) await writer.write('K', keys)
  const rows: Record<string, number> = {}
  for (const table of await listTables(client)) {
    await writer.write('T', table)
    const pieces = copyOut(client, table)
    for (;;) {
      const { done, value } = await pieces.next()
      if (done) {
        rows[table.name] = value
        break
      }
      await writer.write('R', value)
      progress.tell(`Table ${table.name}`, value.length)
    }
  }
  // Read last: a sequence cannot be read as of the snapshot, and may only be ahead of the rows.
  const sequences = await listSequences(client)
  const files = rows['message_blob'] ? await writeFiles(writer, client, objects, progress) : NO_FILES
  await ask(client, 'commit')
  const ending = { rows, sequences, ...files }
  await writer.write('E', ending)
  return { ...ending, bytes: await writer.commit() }
}

const NO_FILES = { files: 0, fileBytes: 0, missingFiles: 0 }

async function readHeader(client: Client, hasKeys: boolean): Promise<BackupHeader> {
  const { rows: known } = await ask<{ exists: boolean }>(
    client,
    `select to_regclass('schema_migration') is not null and to_regclass('sealed_value') is not null as exists`,
  )
  if (!known[0]?.exists)
    throw new CommandError('There is nothing to back up: the database has no schema yet.')
  const { rows: migrations } = await ask<BackupHeader['migrations'][number]>(
    client,
    'select version, name, checksum from schema_migration order by version',
  )
  const { rows: sealedValues } = await ask<BackupHeader['sealedValues'][number]>(
    client,
    `select name, translate(encode(sealed, 'base64'), E'\\n', '') as sealed from sealed_value order by name`,
  )
  const { rows: keyIds } = await ask<{ id: string }>(
    client,
    `select distinct encode(substring(data_key from 1 for 8), 'hex') as id from account where data_key is not null`,
  )
  const { rows: server } = await ask<{ version: string }>(
    client,
    `select current_setting('server_version') as version`,
  )
  return {
    createdAt: new Date().toISOString(),
    release: product.version,
    postgres: server[0]?.version ?? '',
    migrations,
    sealedValues,
    keyIds: keyIds.map(({ id }) => id),
    leftOut: hasKeys ? LEFT_OUT : [...LEFT_OUT, 'master keys'],
  }
}

/**
 * Writes the stored files. A file is written before its row names a message, and removed before its row is. So every
 * file that the snapshot names was complete when the snapshot was taken; one that is gone by now belonged to a message
 * that has been deleted since.
 */
async function writeFiles(writer: BackupWriter, client: Client, objects: ObjectStore, progress: Progress) {
  const isOwn = await requireOwnStore(client, objects)
  const total = { ...NO_FILES }
  await ask(
    client,
    `declare stored no scroll cursor for
     select id, tenant_id, account_id from message_blob where message_id is not null`,
  )
  for (;;) {
    const { rows } = await ask<{ id: string; tenant_id: string; account_id: string }>(
      client,
      `fetch ${FILES_PER_FETCH} from stored`,
    )
    if (rows.length === 0) break
    for (const row of rows) {
      const key = blobKey(row)
      const stored = await openStoredFile(objects, key)
      if (!stored) {
        total.missingFiles += 1
        continue
      }
      await writer.write('B', { key, bytes: stored.bytes })
      for await (const piece of stored.pieces) {
        await writer.write('F', piece)
        progress.tell('Stored messages', piece.length)
      }
      total.files += 1
      total.fileBytes += stored.bytes
    }
  }
  if (!isOwn && total.files === 0 && total.missingFiles > 0)
    throw refuseStore(objects, 'none of them is there')
  return total
}

/**
 * In another store every message would count as gone. Returns false if that is not known: a database of an earlier
 * release has no mark, and one that was restored may not have written it yet.
 */
async function requireOwnStore(client: Client, objects: ObjectStore): Promise<boolean> {
  const { rows: known } = await ask<{ exists: boolean }>(
    client,
    `select to_regclass('blob_mark') is not null as exists`,
  )
  if (!known[0]?.exists) return false
  const { rows } = await ask<{ id: string; isWritten: boolean }>(
    client,
    'select id, is_written as "isWritten" from blob_mark',
  )
  if (!rows[0]) return false
  if (await holdsMark(objects, rows[0].id)) return true
  if (rows[0].isWritten) throw refuseStore(objects, 'it does not hold the mark of this installation')
  return false
}

function refuseStore({ name }: ObjectStore, reason: string): CommandError {
  return new CommandError(
    `The stored messages are not in ${name}: ${reason}. Run the command with the settings of the service, and mount ` +
      'the folder.',
  )
}
