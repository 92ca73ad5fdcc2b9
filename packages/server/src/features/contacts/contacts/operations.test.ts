import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openContactDoor } from '../../../../test/contact-door.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { ProviderFailure, type FailureKind } from '../../../providers/failure.ts'
import { newId } from '../../../kit/ids.ts'

type Door = Awaited<ReturnType<typeof openContactDoor>>
type Page = { items: Contact[]; nextCursor: string | null }

const opened = new AsyncDisposableStack()
let door: Door
beforeAll(async () => {
  door = opened.use(await openContactDoor(opened.use(await openTestDatabase())))
})
afterAll(() => opened.disposeAsync())

const namesOf = ({ items }: Page) => items.map(({ displayName, emails }) => displayName ?? emails[0]?.address)
const refused = (status: number, code: string) => ({ status, body: { code } })

async function listAll(path: string, query: string): Promise<Contact[]> {
  const items: Contact[] = []
  let cursor = ''
  for (;;) {
    const { body } = await door.get<Page>(`${path}/contacts?${query}${cursor}`)
    items.push(...body.items)
    if (body.nextCursor === null) return items
    cursor = `&cursor=${encodeURIComponent(body.nextCursor)}`
  }
}

describe('reading contacts', () => {
  test('lists them in the order of their names, without regard to case', async () => {
    const { books, path, pass } = await door.openAccount('books')
    const [book = ''] = books.folders.keys()
    books.add(book, { emails: [{ address: 'delta@example.com', type: 'other' }] })
    books.add(book, { displayName: 'bravo' })
    books.add(book, { displayName: 'Alpha', givenName: 'Zoe' })
    books.add(book, { givenName: 'Charlie', familyName: 'Brown' })
    books.add(book, { organization: 'Echo' })
    await pass()
    const { body } = await door.get<Page>(`${path}/contacts`)
    expect(
      body.items.map(
        ({ displayName, givenName, organization, emails }) =>
          displayName ?? givenName ?? organization ?? emails[0]?.address,
      ),
    ).toEqual(['Alpha', 'bravo', 'Charlie', 'delta@example.com', 'Echo'])
    expect(body.nextCursor).toBeNull()
  })

  test('pages neither lose nor repeat contacts while others come and go', async () => {
    const { books, path, pass } = await door.openAccount('books')
    const [book = ''] = books.folders.keys()
    const name = (n: number) => (n % 3 === 0 ? 'Same' : `Name ${String(n).padStart(2, '0')}`)
    for (let n = 0; n < 30; n++) books.add(book, { displayName: name(n) })
    await pass()
    const stable = await listAll(path, 'limit=30')
    const seen: Contact[] = []
    let cursor = ''
    for (let page = 0; ; page++) {
      const { body } = await door.get<Page>(`${path}/contacts?limit=4${cursor}`)
      seen.push(...body.items)
      if (body.nextCursor === null) break
      cursor = `&cursor=${encodeURIComponent(body.nextCursor)}`
      books.add(book, { displayName: page % 2 === 0 ? 'Aaa' : 'Zzz' })
      await pass()
    }
    const ids = seen.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids).toEqual(expect.arrayContaining(stable.map(({ id }) => id)))
  })

  test.each([
    ['a part of a display name', 'LOVEL', ['Ada Lovelace']],
    ['a nickname', 'amazing', ['Grace Hopper']],
    ['a part of an organization', 'navy', ['Grace Hopper']],
    ['a part of an address', 'ada@exa', ['Ada Lovelace']],
    ['letters beyond ASCII', 'ÉMIL', ['Émilie du Châtelet']],
    ['two letters', 'ov', ['Ada Lovelace']],
    ['one letter', 'h', ['Émilie du Châtelet', 'Grace Hopper']],
    ['a percent sign', '0%', ['100% Alice']],
    ['an underscore as itself', 'a_a', []],
    ['what only notes have', 'engine', []],
  ])('finds %s', async (_, q, expected) => {
    const { books, path, pass } = await door.openAccount('books')
    const [book = ''] = books.folders.keys()
    books.add(book, {
      displayName: 'Ada Lovelace',
      notes: 'Analytical engine',
      emails: [{ address: 'ada@example.com', type: 'work' }],
    })
    books.add(book, { displayName: 'Grace Hopper', nickname: 'Amazing', organization: 'US Navy' })
    books.add(book, { displayName: 'Émilie du Châtelet' })
    books.add(book, { displayName: '100% Alice' })
    await pass()
    const { body } = await door.get<Page>(`${path}/contacts?q=${encodeURIComponent(q)}`)
    expect(namesOf(body).toSorted()).toEqual(expected.toSorted())
  })

  test('lists folders with the default one first, and the contacts of one of them', async () => {
    const { books, path, pass } = await door.openAccount('books')
    const other = books.createFolder('Other')
    const [book = ''] = books.folders.keys()
    books.add(book, { displayName: 'In the first' })
    books.add(other, { displayName: 'In the other' })
    await pass()
    const { body } = await door.get<{ items: Array<{ id: string; name: string }> }>(`${path}/contact-folders`)
    expect(body.items).toEqual([
      { id: expect.any(String), name: 'first', isDefault: true },
      { id: expect.any(String), name: 'Other', isDefault: false },
    ])
    const listed = await door.get<Page>(`${path}/contacts?folderId=${body.items[1]!.id}`)
    expect(namesOf(listed.body)).toEqual(['In the other'])
    expect(listed.body.items[0]!.folderId).toBe(body.items[1]!.id)
  })

  test('shows no folder of a provider that has none', async () => {
    const { books, path, pass } = await door.openAccount('people')
    const [book = ''] = books.folders.keys()
    books.add(book, { displayName: 'Ada' })
    await pass()
    expect((await door.get(`${path}/contact-folders`)).body).toEqual({ items: [] })
    expect((await door.get<Page>(`${path}/contacts`)).body.items[0]).toMatchObject({ folderId: null })
  })
})

describe('changing contacts', () => {
  test('creates, changes and deletes one at the provider and in the index, each announced once', async () => {
    const { id: accountId, books, path, pass } = await door.openAccount('books')
    await pass()
    const created = await door.post<Contact>(`${path}/contacts`, {
      displayName: 'Ada',
      emails: [{ address: 'ada@example.com' }],
      birthday: '--02-29',
    })
    expect(created).toMatchObject({
      status: 200,
      body: {
        displayName: 'Ada',
        emails: [{ address: 'ada@example.com', type: 'other' }],
        birthday: '--02-29',
      },
    })
    const contact = `${path}/contacts/${created.body.id}`
    const changed = await door.patch<Contact>(contact, { birthday: null, notes: 'Two\nlines' })
    expect(changed.body).toMatchObject({ id: created.body.id, birthday: null, notes: 'Two\nlines' })
    expect([...books.contacts.values()][0]!.fields).toMatchObject({ displayName: 'Ada', notes: 'Two\nlines' })
    await pass()
    expect((await door.get(contact)).body).toEqual(changed.body)
    expect(await door.delete(contact)).toMatchObject({ status: 200, body: null })
    expect(books.contacts.size).toBe(0)
    await pass()
    expect(await door.get(contact)).toMatchObject(refused(404, 'contact_not_found'))
    const { rows } = await sql<{ type: string; changes: string[] | null }>`
      select type, data -> 'changes' as changes from event where account_id = ${accountId} and type like 'contact%'
      order by id
    `.execute(door.db)
    expect(rows).toEqual([
      { type: 'contacts.initialized', changes: null },
      { type: 'contact.created', changes: null },
      { type: 'contact.updated', changes: ['birthday', 'notes'] },
      { type: 'contact.deleted', changes: null },
    ])
  })

  test('a POST that is sent again after its answer was lost finds the contact that it made', async () => {
    const { books, path, pass } = await door.openAccount('books')
    await pass()
    const key = { 'idempotency-key': newId() }
    const body = { displayName: 'Once' }
    books.lostAnswers = 1
    expect(await door.post(`${path}/contacts`, body, key)).toMatchObject({ status: 502 })
    expect(books.contacts.size).toBe(1)
    expect(await door.post(`${path}/contacts`, body, key)).toMatchObject({ status: 200, body })
    expect(books.contacts.size).toBe(1)
    await pass()
    expect((await door.get<Page>(`${path}/contacts`)).body.items).toHaveLength(1)
  })

  test('deletes a contact that is gone at the provider already', async () => {
    const { books, path, pass } = await door.openAccount('books')
    const [book = ''] = books.folders.keys()
    const held = books.add(book, { displayName: 'Gone' })
    await pass()
    const [contact] = await listAll(path, 'limit=10')
    books.remove(held.key)
    expect(await door.delete(`${path}/contacts/${contact!.id}`)).toMatchObject({ status: 200 })
    expect(await listAll(path, 'limit=10')).toEqual([])
  })

  test('a contact that is gone at the provider cannot be changed, and is looked for', async () => {
    const { books, path, pass } = await door.openAccount('books')
    const [book = ''] = books.folders.keys()
    const held = books.add(book, { displayName: 'Gone' })
    await pass()
    const [contact] = await listAll(path, 'limit=10')
    books.remove(held.key)
    expect(await door.patch(`${path}/contacts/${contact!.id}`, { nickname: 'x' })).toMatchObject(
      refused(404, 'provider_not_found'),
    )
    await pass()
    expect(await listAll(path, 'limit=10')).toEqual([])
  })
})

describe('refusals', () => {
  /** An account with one contact that has only a display name. */
  async function openOne(settings?: { contactsEnabled: boolean }) {
    const account = await door.openAccount('books')
    const [book = ''] = account.books.folders.keys()
    account.books.add(book, { displayName: 'Ada' })
    await account.pass()
    const [contact] = await listAll(account.path, 'limit=10')
    if (settings)
      await sql`
        update account set settings_override = ${JSON.stringify(settings)}::jsonb where id = ${account.id}
      `.execute(door.db)
    const before = new Map(account.books.contacts)
    return { ...account, contact: `${account.path}/contacts/${contact!.id}`, before }
  }

  test('of an account whose contacts are switched off come before those of a contact', async () => {
    const { path, contact } = await openOne({ contactsEnabled: false })
    const off = refused(409, 'contacts_disabled')
    expect(await door.get(`${path}/contacts`)).toMatchObject(off)
    expect(await door.get(`${path}/contact-folders`)).toMatchObject(off)
    expect(await door.get(contact)).toMatchObject(off)
    expect(await door.get(`${path}/contacts/${newId()}`)).toMatchObject(off)
    expect(await door.get(`${contact}/photo`)).toMatchObject(off)
    expect(await door.post(`${path}/contacts`, {})).toMatchObject(off)
    expect(await door.patch(contact, {})).toMatchObject(off)
    expect(await door.delete(contact)).toMatchObject(off)
    expect(await door.get(`/v1/accounts/${newId()}/contacts`)).toMatchObject(
      refused(404, 'account_not_found'),
    )
  })

  test.each([
    ['control characters in a name', { displayName: 'A\nB' }, 'body.displayName'],
    ['control characters in notes', { notes: 'A\u0007' }, 'body.notes'],
    [
      '21 addresses',
      { emails: Array.from({ length: 21 }, () => ({ address: 'a@example.com' })) },
      'body.emails',
    ],
    ['a day that is none', { birthday: '--02-30' }, 'body.birthday'],
    ['a day that the year lacks', { birthday: '2023-02-29' }, 'body.birthday'],
    ['an empty name', { displayName: '' }, 'body.displayName'],
    ['an address that is none', { emails: [{ address: 'ada' }] }, 'body.emails'],
    ['another type', { phones: [{ number: '1', type: 'car' }] }, 'body.phones'],
    ['an unknown field', { displayName: 'A', title: 'x' }, 'body.title'],
  ])('of %s name the field, and write nothing', async (_, body, path) => {
    const { path: account, contact, books, before } = await openOne()
    for (const answer of [await door.post(`${account}/contacts`, body), await door.patch(contact, body)]) {
      expect(answer).toMatchObject(refused(400, 'invalid_input'))
      expect(JSON.stringify(answer.body)).toContain(path.replace('body.', ''))
    }
    expect(new Map(books.contacts)).toEqual(before)
  })

  test('of a contact that nobody could tell from others, also as a change would leave it', async () => {
    const { path, contact, books, before } = await openOne()
    const unidentifiable = refused(400, 'contact_unidentifiable')
    expect(await door.post(`${path}/contacts`, { notes: 'only notes' })).toMatchObject(unidentifiable)
    expect(await door.patch(contact, { displayName: null, emails: [] })).toMatchObject(unidentifiable)
    expect(await door.patch(contact, { displayName: null, phones: [{ number: '1' }] })).toMatchObject({
      status: 200,
    })
    expect(books.contacts.size).toBe(before.size)
  })

  test('of folders', async () => {
    const { path, contact } = await openOne()
    const body = { displayName: 'A', folderId: newId() }
    const unknown = refused(422, 'unknown_contact_folder')
    expect(await door.post(`${path}/contacts`, body)).toMatchObject(unknown)
    expect(await door.get(`${path}/contacts?folderId=${newId()}`)).toMatchObject(unknown)
    expect(await door.patch(contact, body)).toMatchObject(refused(400, 'invalid_input'))
    const people = await door.openAccount('people')
    await people.pass()
    const { rows } = await sql<{ id: string }>`
      select id from contact_folder where account_id = ${people.id}`.execute(door.db)
    expect(rows).toHaveLength(1)
    const inside = { displayName: 'A', folderId: rows[0]!.id }
    expect(await door.post(`${people.path}/contacts`, inside)).toMatchObject(unknown)
  })

  test.each([
    ['paused', 'account_paused'],
    ['disabled', 'account_disabled'],
    ['reauth_required', 'account_reauth_required'],
  ])('of an account that is %s, while reads go on', async (status, code) => {
    const { id, path, contact, books, before } = await openOne()
    await sql`update account set status = ${status} where id = ${id}`.execute(door.db)
    expect(await door.post(`${path}/contacts`, { displayName: 'A' })).toMatchObject(refused(409, code))
    expect(await door.patch(contact, { nickname: 'A' })).toMatchObject(refused(409, code))
    expect(await door.delete(contact)).toMatchObject(refused(409, code))
    expect(await door.get(contact)).toMatchObject({ status: 200 })
    expect(new Map(books.contacts)).toEqual(before)
  })

  test('of writes while the login to the contacts is refused, while reads go on', async () => {
    const { id, path, contact } = await openOne()
    await sql`
      update account_half set problem = 'dav_login_failed' where account_id = ${id} and kind = 'contacts'
    `.execute(door.db)
    const misconfigured = refused(409, 'account_misconfigured')
    expect(await door.post(`${path}/contacts`, { displayName: 'A' })).toMatchObject(misconfigured)
    expect(await door.delete(contact)).toMatchObject(misconfigured)
    expect(await door.get(contact)).toMatchObject({ status: 200 })
  })

  test.each<[FailureKind, number, string]>([
    ['conflict', 409, 'provider_conflict'],
    ['forbidden', 403, 'provider_forbidden'],
    ['unsupported', 400, 'provider_unsupported'],
    ['rejected', 400, 'provider_rejected'],
    ['throttled', 429, 'provider_throttled'],
    ['unavailable', 502, 'provider_unavailable'],
    ['scope_missing', 400, 'scope_missing'],
    ['login_failed', 409, 'account_misconfigured'],
  ])('of the provider: %s', async (kind, status, code) => {
    const { path, contact, books } = await openOne()
    books.onAwait = () => {
      throw new ProviderFailure(kind, 'No.')
    }
    expect(await door.post(`${path}/contacts`, { displayName: 'A' })).toMatchObject({ body: { code } })
    expect(await door.patch(contact, { nickname: 'A' })).toMatchObject({ status, body: { code } })
    expect(await door.delete(contact)).toMatchObject({ status, body: { code } })
  })

  test('of a cursor of another list', async () => {
    const { path, books, pass } = await openOne()
    const [book = ''] = books.folders.keys()
    books.add(book, { displayName: 'B' })
    await pass()
    const { body } = await door.get<Page>(`${path}/contacts?limit=1`)
    const cursor = encodeURIComponent(body.nextCursor!)
    expect(await door.get(`${path}/contacts?limit=1&q=b&cursor=${cursor}`)).toMatchObject(
      refused(400, 'invalid_cursor'),
    )
  })

  test('of a key that is bound to another account', async () => {
    const { path, contact, id } = await openOne()
    const other = await door.openAccount('books')
    const bound = door.as(await door.door.createKey(undefined, { accountIds: [other.id] }))
    expect(await bound.get(`${path}/contacts`)).toMatchObject(refused(404, 'account_not_found'))
    const own = door.as(await door.door.createKey(undefined, { accountIds: [id] }))
    expect(await own.get(contact)).toMatchObject({ status: 200 })
  })
})
