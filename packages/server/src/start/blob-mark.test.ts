/** @module-tag postgres-16-in-soak */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openTestDatabase } from '../../test/open-database.ts'
import { sampleAccount, sampleMailbox, sampleMessageIn, sampleTenant } from '../../test/sample-rows.ts'
import type { Database } from '../database/pool.ts'
import { blobKey } from '../kit/blobs/blob-key.ts'
import { openFolderObjects } from '../kit/blobs/folder-objects.ts'
import { newId } from '../kit/ids.ts'
import { acceptEmpty, findMark, MARK_KEY, recordRestoredBlobs, requireMark } from './blob-mark.ts'

async function openFolder() {
  const folder = await mkdtemp(path.join(tmpdir(), 'waxwing-mark-'))
  return {
    folder,
    objects: openFolderObjects(folder),
    mark: () =>
      readFile(path.join(folder, MARK_KEY), 'utf8').then(
        text => text.trim(),
        () => null,
      ),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

/** A row of a stored message, whose file is written by the test. */
async function storeRow({ db }: Database) {
  const { id: tenantId } = await sampleTenant(db)
  const account = await sampleAccount(db, tenantId)
  const mailbox = await sampleMailbox(db, account)
  const row = { id: newId(), tenant_id: tenantId, account_id: account.id }
  const message_id = await sampleMessageIn(db, account, mailbox.id)
  await db
    .insertInto('message_blob')
    .values({ ...row, message_id, bytes: '1' })
    .execute()
  return row
}

async function otherProcess({ db }: Database) {
  const heartbeat_until = sql<Date>`clock_timestamp() + interval '50 seconds'`
  await db.insertInto('instance').values({ id: newId(), heartbeat_until }).execute()
}

const ALONE = 0

test('the first process marks its store, and later ones find the mark', async () => {
  await using database = await openTestDatabase()
  await using store = await openFolder()
  const { db } = database
  expect(await findMark(db, store.objects)).toBe('empty')
  await Promise.all(Array.from({ length: 4 }, () => requireMark(db, store.objects, ALONE)))
  const mark = await store.mark()
  expect(mark).toMatch(/^[0-9a-f-]{36}$/)
  await storeRow(database)
  await requireMark(db, store.objects, ALONE)
  expect(await store.mark()).toBe(mark)
  expect(await findMark(db, store.objects)).toBe('ours')
})

test('a process that died while it marked the store leaves nothing that stops the next one', async () => {
  await using database = await openTestDatabase()
  await using store = await openFolder()
  const { db } = database
  await requireMark(db, store.objects, ALONE)
  await sql`update blob_mark set is_written = false`.execute(db)
  await requireMark(db, store.objects, ALONE)
  // The mark was taken, and not yet written.
  await sql`update blob_mark set is_written = false, id = gen_random_uuid()`.execute(db)
  await rm(path.join(store.folder, MARK_KEY))
  await requireMark(db, store.objects, ALONE)
  expect(await findMark(db, store.objects)).toBe('ours')
})

test('a marked store is recognized while the row of the mark is held', async () => {
  await using database = await openTestDatabase()
  await using store = await openFolder()
  const { db } = database
  await requireMark(db, store.objects, ALONE)
  await db.transaction().execute(async tx => {
    await sql`set local idle_in_transaction_session_timeout = 0`.execute(tx)
    await sql`select from blob_mark for update`.execute(tx)
    await requireMark(db, store.objects, ALONE)
  })
})

test.each(['', 'b4a5f1de-0000-4'])('a mark that was cut off to "%s" is written again', async rest => {
  await using database = await openTestDatabase()
  await using store = await openFolder()
  const { db } = database
  await writeFile(path.join(store.folder, MARK_KEY), rest)
  await requireMark(db, store.objects, ALONE)
  expect(await store.mark()).toMatch(/^[0-9a-f-]{36}$/)
})

test('an empty store is refused once messages are stored elsewhere', async () => {
  await using database = await openTestDatabase()
  await using store = await openFolder()
  await using empty = await openFolder()
  const { db } = database
  await requireMark(db, store.objects, ALONE)
  await storeRow(database)
  await expect(requireMark(db, empty.objects, ALONE)).rejects.toThrow(`the folder ${empty.folder} is empty`)
  expect(await empty.mark()).toBeNull()
  expect(await findMark(db, empty.objects)).toBe('empty')
})

test('an empty store is taken while nothing is stored and no other process runs', async () => {
  await using database = await openTestDatabase()
  await using store = await openFolder()
  await using empty = await openFolder()
  const { db } = database
  await requireMark(db, store.objects, ALONE)
  await otherProcess(database)
  await expect(requireMark(db, empty.objects, ALONE)).rejects.toThrow('other processes')
  await requireMark(db, empty.objects, 1)
  // The former store belongs to nobody now, and a process that still has it in its settings is refused.
  await expect(requireMark(db, store.objects, 1)).rejects.toThrow('another installation')
})

test('the store of another installation is always refused', async () => {
  await using database = await openTestDatabase()
  await using store = await openFolder()
  const { db } = database
  await requireMark(db, store.objects, ALONE)
  await sql`update blob_mark set id = gen_random_uuid(), is_written = false`.execute(db)
  for (const isWritten of [false, true]) {
    await sql`update blob_mark set is_written = ${isWritten}`.execute(db)
    await expect(requireMark(db, store.objects, ALONE)).rejects.toThrow('another installation')
    await expect(acceptEmpty(db, store.objects)).rejects.toThrow('another installation')
  }
})

test.each(['no mark', 'the mark that it had before'])(
  'messages of earlier releases and of restores are found again, with %s',
  async kind => {
    await using database = await openTestDatabase()
    await using store = await openFolder()
    await using empty = await openFolder()
    const { db } = database
    const row = await storeRow(database)
    await storeRow(database)
    await store.objects.put(blobKey(row), Buffer.from('sealed'))
    if (kind !== 'no mark')
      await writeFile(path.join(store.folder, MARK_KEY), 'b4a5f1de-0000-4000-8000-000000000000')
    await expect(requireMark(db, empty.objects, ALONE)).rejects.toThrow('is empty')
    await requireMark(db, store.objects, ALONE)
    expect(await findMark(db, store.objects)).toBe('ours')
    await expect(requireMark(db, empty.objects, ALONE)).rejects.toThrow('is empty')
  },
)

test('messages that are lost are given up only if an operator says so', async () => {
  await using database = await openTestDatabase()
  await using empty = await openFolder()
  const { db } = database
  await storeRow(database)
  await recordRestoredBlobs(db, empty.objects)
  await expect(requireMark(db, empty.objects, ALONE)).rejects.toThrow('--without-blobs')
  await acceptEmpty(db, empty.objects)
  await requireMark(db, empty.objects, ALONE)
})

test('a declared restore keeps a mark that its store holds, so that no other store is taken', async () => {
  await using database = await openTestDatabase()
  await using store = await openFolder()
  await using other = await openFolder()
  const { db } = database
  await requireMark(db, store.objects, ALONE)
  const row = await storeRow(database)
  for (const each of [store, other]) await each.objects.put(blobKey(row), Buffer.from('sealed'))
  await recordRestoredBlobs(db, store.objects)
  await expect(requireMark(db, other.objects, ALONE)).rejects.toThrow('is empty')
  await requireMark(db, store.objects, ALONE)
})

test('a copy of a database that begins with an empty store has no right to the store of the original', async () => {
  await using original = await openTestDatabase()
  await using store = await openFolder()
  await using empty = await openFolder()
  await storeRow(original)
  await sql`update blob_mark set is_written = true`.execute(original.db)
  await acceptEmpty(original.db, store.objects)
  const mark = await store.mark()
  // As in a copy.
  await acceptEmpty(original.db, empty.objects)
  expect(await empty.mark()).not.toBe(mark)
  await expect(requireMark(original.db, store.objects, ALONE)).rejects.toThrow('another installation')
})
