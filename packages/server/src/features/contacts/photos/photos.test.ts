import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { rm } from 'node:fs/promises'
import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openContactDoor } from '../../../../test/contact-door.ts'
import type { BooksKind } from '../../../../test/memory-contacts.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { PHOTO_BYTES_MAX } from '../../../providers/contacts.ts'
import { purgeContacts } from '../purge.ts'
import { imageTypeOf } from './image-type.ts'
import { sweepPhotos } from './store.ts'

const NEVER = new AbortController().signal
const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(20_000, 7)])
const JPEG = Buffer.concat([Buffer.from('\xff\xd8\xff\xe0', 'latin1'), Buffer.alloc(3_000, 8)])

const opened = new AsyncDisposableStack()
let door: Awaited<ReturnType<typeof openContactDoor>>
beforeAll(async () => {
  door = opened.use(await openContactDoor(opened.use(await openTestDatabase())))
})
afterAll(() => opened.disposeAsync())

async function openOne(kind: BooksKind, photo: Buffer | null) {
  const account = await door.openAccount(kind)
  const [book = ''] = account.books.folders.keys()
  const { key } = account.books.add(book, { displayName: 'Ada' }, { photo })
  await account.pass()
  const { body } = await door.get<{ items: Contact[] }>(`${account.path}/contacts`)
  const contact = body.items[0]!
  const url = `${account.path}/contacts/${contact.id}`
  return {
    ...account,
    key,
    contact,
    read: async () => (await door.get<Contact>(url)).body,
    fetches: () => account.books.calls.filter(call => call === 'readPhoto').length,
    async download() {
      const answer = await fetch(door.door.address + url + '/photo', {
        headers: { authorization: `Bearer ${await door.door.createKey()}` },
      })
      return {
        status: answer.status,
        type: answer.headers.get('content-type'),
        content: Buffer.from(await answer.arrayBuffer()),
      }
    },
  }
}

const countFiles = async () =>
  (await readdir(door.folder, { recursive: true, withFileTypes: true })).filter(entry => entry.isFile())
    .length

async function readCounted(): Promise<{ counted: number; stored: number }> {
  const { rows } = await sql<{ counted: number; stored: number }>`
    select coalesce((select sum(bytes) from tenant_storage), 0)::float8 as counted,
      coalesce((select sum(bytes) from contact_photo), 0)::float8 as stored
  `.execute(door.db)
  return rows[0]!
}

describe('the photo of a contact', () => {
  test('is fetched on the first request, and kept and counted until it changes', async () => {
    const { books, key, pass, fetches, download } = await openOne('books', PNG)
    expect(await download()).toEqual({ status: 200, type: 'image/png', content: PNG })
    expect(await download()).toEqual({ status: 200, type: 'image/png', content: PNG })
    expect(fetches()).toBe(1)
    const { counted, stored } = await readCounted()
    expect(stored).toBeGreaterThan(0)
    expect(counted).toBe(stored)
    books.setPhoto(key, JPEG)
    await pass()
    expect(await download()).toEqual({ status: 200, type: 'image/jpeg', content: JPEG })
    expect(fetches()).toBe(2)
    books.setPhoto(key, null)
    await pass()
    expect((await download()).status).toBe(404)
    await sweepPhotos(door.db, door.blobs, NEVER)
    expect(await readCounted()).toEqual({ counted: 0, stored: 0 })
    expect(await countFiles()).toBe(0)
  })

  test('is fetched again if its object is lost', async () => {
    const { id, fetches, download } = await openOne('books', PNG)
    await download()
    const { rows } = await sql<{ tenant_id: string }>`select tenant_id from account where id = ${id}`.execute(
      door.db,
    )
    await rm(path.join(door.folder, rows[0]!.tenant_id, id), { recursive: true })
    expect(await download()).toMatchObject({ status: 200, content: PNG })
    expect(fetches()).toBe(2)
  })

  test('is found on the first request if the provider was not asked before, which is no event', async () => {
    const { id, contact, read, download } = await openOne('folders', PNG)
    expect(contact.hasPhoto).toBeNull()
    expect((await download()).status).toBe(200)
    expect((await read()).hasPhoto).toBe(true)
    const none = await openOne('folders', null)
    expect((await none.download()).status).toBe(404)
    expect((await none.read()).hasPhoto).toBe(false)
    const { rows } = await sql`
      select from event where account_id = any(${[id, none.id]}::uuid[]) and type = 'contact.updated'`.execute(
      door.db,
    )
    expect(rows).toEqual([])
  })

  test('is announced when it comes and when it goes', async () => {
    const { id, books, key, pass } = await openOne('books', null)
    books.setPhoto(key, PNG)
    await pass()
    books.setPhoto(key, null)
    await pass()
    const { rows } = await sql<{ changes: string[] }>`
      select data -> 'changes' as changes from event where account_id = ${id} and type = 'contact.updated' order by id
    `.execute(door.db)
    expect(rows).toEqual([{ changes: ['hasPhoto'] }, { changes: ['hasPhoto'] }])
  })

  test.each([
    ['SVG', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>')],
    ['a text', Buffer.from('no image')],
    ['nothing', Buffer.alloc(0)],
    ['too large', Buffer.concat([PNG, Buffer.alloc(PHOTO_BYTES_MAX)])],
  ])('that is %s is not passed on', async (_, photo) => {
    const { download } = await openOne('books', photo)
    const { status, content } = await download()
    expect(status).toBe(404)
    expect(JSON.parse(content.toString())).toMatchObject({ code: 'photo_not_found' })
  })

  test('is removed with its account', async () => {
    const { id, download } = await openOne('books', PNG)
    await download()
    const before = await countFiles()
    await purgeContacts(door.db, door.blobs, id, NEVER)
    expect(await countFiles()).toBe(before - 1)
    for (const table of ['contact', 'contact_folder', 'contact_photo', 'contact_mark']) {
      const { rows } = await sql`select from ${sql.table(table)} where account_id = ${id}`.execute(door.db)
      expect(rows).toEqual([])
    }
    const { counted, stored } = await readCounted()
    expect(counted).toBe(stored)
  })

  // Last, since the plan stays.
  test('is passed on and not kept if the plan has no room', async () => {
    const { fetches, download } = await openOne('books', PNG)
    await door.door.limit({ storageBytes: 0 })
    const before = await countFiles()
    expect(await download()).toMatchObject({ status: 200, content: PNG })
    expect(await download()).toMatchObject({ status: 200, content: PNG })
    expect(fetches()).toBe(2)
    expect(await countFiles()).toBe(before)
  })
})

test.each([
  ['image/gif', 'GIF89a…'],
  ['image/webp', 'RIFF\x04\0\0\0WEBPVP8 '],
  ['image/avif', '\0\0\0\x1cftypavif'],
  ['image/heic', '\0\0\0\x18ftypheic'],
  ['image/tiff', 'II*\0'],
  ['image/bmp', 'BM6'],
  [null, 'RIFF\x04\0\0\0WAVE'],
  [null, '<?xml version="1.0"?><svg/>'],
  [null, ''],
])('the type of an image is %s by its first bytes', (type, bytes) => {
  expect(imageTypeOf(Buffer.from(bytes, 'latin1'))).toBe(type)
})
