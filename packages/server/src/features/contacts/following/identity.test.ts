import { expect, test } from 'vitest'
import {
  ownContacts,
  passContacts,
  readContactFeed,
  readContacts,
} from '../../../../test/memory-contact-account.ts'
import { MemoryBooks } from '../../../../test/memory-contacts.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import type { OwnedAccount } from '../../../accounts/halves/ownership.ts'
import type { Db } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { NO_FIELDS, type RemoteContact } from '../../../providers/contacts.ts'
import { recordContacts } from '../contacts/record.ts'
import { lockContacts } from '../contacts/record-account.ts'
import { recordMarks } from '../contacts/record-marks.ts'
import { placedFolders } from '../contacts/record-written.ts'
import { listIndexedFolders } from '../folders/store.ts'

test.each([
  ['before', 0],
  ['after', 1],
])('a card that moves to a book that is read %s its own keeps its id', async (_, to) => {
  await using database = await openTestDatabase()
  const { db } = database
  const owned = await ownContacts(db)
  const books = new MemoryBooks('books')
  books.createFolder('second')
  const keys = [...books.folders.keys()]
  const { key } = books.add(keys[1 - to]!, { displayName: 'Ada' })
  const provider = books.connect()
  await passContacts(db, owned, provider)
  const [before] = await readContacts(db)
  books.move(key, keys[to]!)
  await passContacts(db, owned, provider)
  const after = await readContacts(db)
  expect(after).toMatchObject([{ id: before!.id, folderKey: keys[to] }])
  expect(after[0]!.folderId).not.toBe(before!.folderId)
  const [, ...events] = await readContactFeed(db)
  expect(events).toMatchObject([{ type: 'contact.updated', data: { changes: ['folderId'] } }])
})

test('a copy of a card in another book is a contact of its own', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const owned = await ownContacts(db)
  const books = new MemoryBooks('books')
  const second = books.createFolder('second')
  const [first = ''] = books.folders.keys()
  const { uid } = books.add(second, { displayName: 'Ada' })
  const provider = books.connect()
  await passContacts(db, owned, provider)
  books.add(first, { displayName: 'Ada' }, { uid })
  await passContacts(db, owned, provider)
  const [, ...events] = await readContactFeed(db)
  expect(events.map(({ type }) => type)).toEqual(['contact.created'])
  expect(new Set((await readContacts(db)).map(({ id }) => id)).size).toBe(2)
})

test('people that are merged keep the id of one of them, and the other one is deleted', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const owned = await ownContacts(db)
  const books = new MemoryBooks('people')
  const [all = ''] = books.folders.keys()
  const [one, other] = ['Ada', 'Ada L.'].map(displayName => books.add(all, { displayName }))
  const provider = books.connect()
  await passContacts(db, owned, provider)
  const ids = new Map((await readContacts(db)).map(({ key, id }) => [key, id]))
  const merged = books.merge(one!.key, other!.key)
  await passContacts(db, owned, provider)
  expect(await readContacts(db)).toMatchObject([
    { id: ids.get(one!.key), key: merged.key, displayName: 'Ada' },
  ])
  const [, ...events] = await readContactFeed(db)
  expect(events).toMatchObject([{ type: 'contact.deleted', data: { contact: { id: ids.get(other!.key) } } }])
})

test('a page that was read before the interface changed a contact does not undo that', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const owned = await ownContacts(db)
  const books = new MemoryBooks('folders')
  const [folder = ''] = books.folders.keys()
  const { key } = books.add(folder, { displayName: 'First' })
  const provider = books.connect()
  await passContacts(db, owned, provider)
  books.update(key, { displayName: 'Of another client' })
  books.onAwait = async () => {
    if (books.calls.at(-1) !== 'page') return
    books.onAwait = () => undefined
    await recordOurs(db, owned, await books.connect().change(key, { displayName: 'Ours' }))
  }
  await passContacts(db, owned, provider)
  expect((await readContactFeed(db)).map(({ data }) => data.contact?.displayName)).toEqual([
    undefined,
    'Ours',
  ])
  expect(await readContacts(db)).toMatchObject([{ displayName: 'Ours' }])
})

test('a contact that was created during a pass is noticed to be gone by a server that tells no interim states', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const owned = await ownContacts(db)
  const books = new MemoryBooks('books')
  const [folder = ''] = books.folders.keys()
  const provider = books.connect()
  await passContacts(db, owned, provider)
  let key = ''
  books.onAwait = async () => {
    if (books.calls.at(-1) !== 'findChanged') return
    books.onAwait = () => undefined
    const fields = { ...NO_FIELDS, displayName: 'Ours' }
    const made = await books
      .connect()
      .create({ folderKey: folder, fields, creationId: 'one', mayExist: false })
    key = made.key
    await recordOurs(db, owned, made)
  }
  await passContacts(db, owned, provider)
  expect(await readContacts(db)).toMatchObject([{ displayName: 'Ours' }])
  books.remove(key)
  for (let nth = 0; nth < 2; nth++) await passContacts(db, owned, provider)
  expect(await readContacts(db)).toEqual([])
})

/** Records what the interface has written. */
async function recordOurs(db: Db, owned: OwnedAccount, contact: RemoteContact): Promise<void> {
  await inTransaction(db, owned.tenantId, async unit => {
    const account = await lockContacts(unit, owned.id)
    const folders = placedFolders(await listIndexedFolders(unit.sql, account.id))
    await recordContacts(unit, account, [contact], { folders })
    await recordMarks(unit, account.id, [contact.key])
  })
}
