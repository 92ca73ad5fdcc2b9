import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import {
  ownContacts,
  passContacts,
  readContactFeed,
  readContacts,
} from '../../../../test/memory-contact-account.ts'
import { type BooksKind, MemoryBooks } from '../../../../test/memory-contacts.ts'
import { copyContact } from '../../../../test/sample-rows.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import type { OwnedAccount } from '../../../accounts/halves/ownership.ts'
import type { Db } from '../../../database/pool.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { findFolderComparisons } from '../comparisons/store.ts'
import { newId } from '../../../kit/ids.ts'
import { recordMarks } from '../contacts/record-marks.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'

const KINDS: readonly BooksKind[] = ['books', 'folders', 'people']
const NAMES = ['Ada', 'Bob', 'Cid', 'Dan']

/** An account whose four contacts were read, and whose comparisons are planned. */
async function openRead(kind: BooksKind) {
  await using opened = new AsyncDisposableStack()
  const { db } = opened.use(await openTestDatabase())
  const owned = await ownContacts(db)
  const books = new MemoryBooks(kind)
  const [folder = ''] = books.folders.keys()
  const held = NAMES.map(displayName => books.add(folder, { displayName }))
  const provider = books.connect()
  await passContacts(db, owned, provider)
  const moved = opened.move()
  return {
    db,
    owned,
    books,
    folder,
    held,
    pass: () => passContacts(db, owned, provider),
    verifiedAt: async () => (await halfOf(db, owned)).verifiedAt,
    differs: async () => (await halfOf(db, owned)).differs,
    counts: async () => {
      const [comparison] = await findFolderComparisons(db, owned.id)
      const { listed, indexed, missing, extra, changed, repaired } = comparison!
      return { listed, indexed, missing, extra, changed, repaired }
    },
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  }
}

async function halfOf(db: Db, { id }: OwnedAccount): Promise<{ verifiedAt: Date | null; differs: boolean }> {
  const { rows } = await sql<{ verifiedAt: Date | null; differs: boolean }>`
    select verified_at as "verifiedAt", differs_since is not null as differs from account_half
    where account_id = ${id} and kind = 'contacts'`.execute(db)
  return rows[0]!
}

/** Lets a time that was planned come. */
const makeDue = (db: Db) =>
  sql`update contact_comparison set due_at = now() - interval '1 second'`.execute(db)

/** Loses, adds and changes rows as no code of the service would. */
async function damage(db: Db, keys: readonly string[]): Promise<void> {
  const [lost, changed, copied] = keys
  await sql`delete from contact where provider_key = ${lost}`.execute(db)
  await sql`update contact set version = 'another', display_name = 'Eve' where provider_key = ${changed}`.execute(
    db,
  )
  await copyContact(db, copied!, { id: newId(), provider_key: 'ghost', uid: null, display_name: 'Ghost' })
}

describe.each(KINDS)('on a provider with %s', kind => {
  test('an account is compared within minutes of its first sync, and then within a day', async () => {
    await using account = await openRead(kind)
    const { db, pass, counts, verifiedAt } = account
    expect(await pass()).toEqual({ hasMore: false })
    expect(await verifiedAt()).toBeNull()
    const seconds = async () =>
      (
        await sql<{ seconds: number }>`
          select extract(epoch from due_at - now())::float8 as seconds from contact_comparison`.execute(db)
      ).rows[0]!.seconds
    expect(await seconds()).toBeLessThanOrEqual(300)
    await makeDue(db)
    expect(await pass()).toEqual({ hasMore: false })
    expect(await counts()).toEqual({ listed: 4, indexed: 4, missing: 0, extra: 0, changed: 0, repaired: 0 })
    expect(await verifiedAt()).not.toBeNull()
    expect(await seconds()).toBeGreaterThan(22 * 3_600 - 60)
    expect(await seconds()).toBeLessThanOrEqual(24 * 3_600)
  })

  test('differences are found, healed by the next pass and announced, and compared again', async () => {
    await using account = await openRead(kind)
    const { db, held, pass, counts, differs, verifiedAt } = account
    await pass()
    const idOf = async (key: string) => (await readContacts(db)).find(contact => contact.key === key)?.id
    const [lost, changed, copied, kept] = held.map(({ key }) => key) as [string, string, string, string]
    const before = await idOf(kept)
    await damage(db, [lost, changed, copied])
    expect(await pass()).toEqual({ hasMore: false })

    await makeDue(db)
    expect(await pass()).toEqual({ hasMore: true })
    expect(await counts()).toEqual({ listed: 4, indexed: 4, missing: 1, extra: 1, changed: 1, repaired: 0 })
    expect(await differs()).toBe(true)
    expect(await verifiedAt()).toBeNull()
    expect(await pass()).toEqual({ hasMore: false })
    expect(await counts()).toEqual({ listed: 4, indexed: 4, missing: 0, extra: 0, changed: 0, repaired: 3 })
    expect(await differs()).toBe(false)
    expect(await verifiedAt()).not.toBeNull()
    expect((await readContacts(db)).map(({ displayName }) => displayName).toSorted()).toEqual(NAMES)
    expect(await idOf(kept)).toBe(before)
    const feed = await readContactFeed(db)
    expect(feed.map(({ type, data }) => `${type} ${data.contact?.displayName ?? ''}`).toSorted()).toEqual([
      'contact.created Ada',
      'contact.deleted Ghost',
      'contact.updated Bob',
      'contacts.initialized ',
    ])
  })

  test('a contact that has another version and equal fields is no difference, and gets its version', async () => {
    await using account = await openRead(kind)
    const { db, held, pass, counts, differs } = account
    await pass()
    const { key } = held[1]!
    const versionOf = async () =>
      (await sql<{ version: string }>`select version from contact where provider_key = ${key}`.execute(db))
        .rows[0]
    const before = await versionOf()
    await sql`update contact set version = 'another' where provider_key = ${key}`.execute(db)
    await makeDue(db)
    expect(await pass()).toEqual({ hasMore: false })
    expect(await counts()).toEqual({ listed: 4, indexed: 4, missing: 0, extra: 0, changed: 0, repaired: 0 })
    expect(await differs()).toBe(false)
    expect(await versionOf()).toEqual(before)
    expect((await readContactFeed(db)).map(({ type }) => type)).toEqual(['contacts.initialized'])
  })

  test('contacts that come, change and go during a comparison are no difference', async () => {
    await using account = await openRead(kind)
    const { db, books, folder, held, pass, counts } = account
    await pass()
    await makeDue(db)
    let asked = 0
    books.onAwait = () => {
      if (++asked !== 3) return
      books.add(folder, { displayName: 'Fay' })
      books.update(held[0]!.key, { displayName: 'Ada the Second' })
      books.remove(held[1]!.key)
    }
    await pass()
    expect(asked).toBeGreaterThan(3)
    expect(await counts()).toMatchObject({ missing: 0, extra: 0, changed: 0 })
  })
})

test('contacts that the interface has just changed, and those that cannot be read, are no difference', async () => {
  await using account = await openRead('books')
  const { db, owned, books, held, pass, counts } = account
  await pass()
  const [marked, unreadable] = held
  books.update(marked!.key, { displayName: 'Ada the Second' })
  unreadable!.isUnreadable = true
  books.update(unreadable!.key, { displayName: 'Bob the Second' })
  books.onAwait = async () => {
    const { tenantId } = owned
    await inTransaction(db, tenantId, unit => recordMarks(unit, owned.id, [marked!.key]))
  }
  await makeDue(db)
  await pass()
  expect(await counts()).toMatchObject({ listed: 4, missing: 0, extra: 0, changed: 0 })
})

test('a folder that could not be listed is left alone for an hour, and counts as before', async () => {
  await using account = await openRead('books')
  const { db, books, pass, verifiedAt } = account
  await pass()
  await makeDue(db)
  await pass()
  const before = await verifiedAt()
  await makeDue(db)
  books.onAwait = () => {
    if (books.calls.at(-1) === 'list') throw new ProviderFailure('unavailable', 'Not now.')
  }
  await expect(pass()).rejects.toThrow('Not now.')
  expect(await pass()).toEqual({ hasMore: false })
  expect(await verifiedAt()).toEqual(before)
})
