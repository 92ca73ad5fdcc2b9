import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import {
  openContactSession,
  ownContacts,
  passContacts,
  readContactFeed,
  readContacts,
} from '../../../../test/memory-contact-account.ts'
import { type BooksKind, type HeldContact, MemoryBooks } from '../../../../test/memory-contacts.ts'
import { openTestDatabase } from '../../../../test/open-database.ts'
import { type Random, seeded } from '../../../../test/seeded.ts'
import { seedsFor } from '../../../../test/sync/disturbance.ts'
import { FenceLost, type OwnedAccount, releaseAccounts } from '../../../accounts/halves/ownership.ts'
import type { Db } from '../../../database/pool.ts'
import { inTransaction } from '../../../events/unit-of-work.ts'
import { NO_FIELDS, type RemoteContact } from '../../../providers/contacts.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import { Doubts, SECOND_LOOK_SECONDS } from '../../../sync/doubts.ts'
import { recordContacts, recordDeletedContacts } from '../contacts/record.ts'
import { lockContacts } from '../contacts/record-account.ts'
import { recordMarks } from '../contacts/record-marks.ts'
import { placedFolders } from '../contacts/record-written.ts'
import { listIndexedFolders } from '../folders/store.ts'
import { runPass } from './pass.ts'

const KINDS: readonly BooksKind[] = ['books', 'folders', 'people']
const SEEDS = seedsFor(1)
const PASSES = 30
const PERMIT = { isWanted: false, [Symbol.dispose]() {} }

class Killed extends Error {}

/** A random history of one account: another client, our interface, and kills of the process that follows it. */
class History {
  readonly books: MemoryBooks
  readonly random: Random
  readonly #db: Db
  readonly #owned: OwnedAccount
  /** Changes that the interface has made at the provider, and that are still to be committed. */
  readonly #uncommitted: Array<() => Promise<void>> = []
  #isActing = false
  #names = 0
  /** Positions in the feed of events that the interface has announced. */
  readonly ofInterface = new Set<number>()
  /** Uids or keys of contacts that lie in several books, or could not be read for a time. */
  readonly odd = new Set<string>()

  constructor(db: Db, owned: OwnedAccount, kind: BooksKind, random: Random) {
    this.#db = db
    this.#owned = owned
    this.books = new MemoryBooks(kind)
    this.random = random
    if (kind !== 'people') this.books.createFolder('second')
    for (let nth = 0; nth < 8; nth++) this.#add()
  }

  /** Called wherever the provider awaits. */
  async disturb(): Promise<void> {
    if (this.#isActing) return
    this.#isActing = true
    try {
      if (this.random.chance(0.25)) this.#otherClient()
      if (this.random.chance(0.15)) await this.#interface()
      if (this.random.chance(0.3)) await this.commitOne()
    } finally {
      this.#isActing = false
    }
    if (this.random.chance(0.06)) throw new Killed()
  }

  async commitOne(): Promise<boolean> {
    const commit = this.#uncommitted.shift()
    // A process that is killed commits nothing.
    if (commit && this.random.chance(0.9)) {
      const before = (await readContactFeed(this.#db)).length
      await commit()
      for (let nth = before; nth < (await readContactFeed(this.#db)).length; nth++) this.ofInterface.add(nth)
    }
    return commit !== undefined
  }

  #fields() {
    return {
      displayName: `Name ${++this.#names}`,
      emails: [{ address: 'a@example.com', type: 'work' as const }],
    }
  }

  #add(): void {
    this.books.add(this.random.pick([...this.books.folders.keys()]), this.#fields())
  }

  #pick(): HeldContact | null {
    const all = [...this.books.contacts.values()]
    return all.length === 0 ? null : this.random.pick(all)
  }

  #otherClient(): void {
    const { books, random } = this
    const contact = this.#pick()
    const act = random.next()
    if (!contact || act < 0.2) this.#add()
    else if (act < 0.4) books.update(contact.key, this.#fields())
    else if (act < 0.5) books.remove(contact.key)
    else if (act < 0.7) this.#moveOrMerge(contact)
    else if (act < 0.78) {
      this.odd.add(contact.uid ?? contact.key)
      books.setUnreadable(contact.key, !contact.isUnreadable)
    } else if (act < 0.85) books.setPhoto(contact.key, contact.photo ? null : Buffer.from('photo'))
    else if (act < 0.9) books.loseCursors()
    else if (act < 0.94 && books.kind !== 'people') books.createFolder(`Folder ${++this.#names}`)
    else if (books.kind === 'books' && contact.uid !== null) {
      this.odd.add(contact.uid)
      books.add(random.pick([...books.folders.keys()]), contact.fields, { uid: contact.uid })
    }
  }

  #moveOrMerge(contact: HeldContact): void {
    const { books, random } = this
    if (books.kind !== 'people') return books.move(contact.key, random.pick([...books.folders.keys()]))
    const other = this.#pick()
    if (other && other !== contact) books.merge(contact.key, other.key)
  }

  async #interface(): Promise<void> {
    const contact = this.#pick()
    const provider = this.books.connect()
    const act = this.random.next()
    if (!contact || act < 0.3) {
      const made = await provider.create({
        folderKey: null,
        fields: { ...NO_FIELDS, ...this.#fields() },
        creationId: `creation ${++this.#names}`,
        mayExist: false,
      })
      this.#uncommitted.push(() => this.#record(made))
    } else if (act < 0.7) {
      const changed = await provider.change(contact.key, this.#fields())
      this.#uncommitted.push(() => this.#record(changed))
    } else {
      await provider.remove(contact.key)
      this.#uncommitted.push(() => this.#recordRemoved(contact.key))
    }
  }

  #record(contact: RemoteContact): Promise<void> {
    return inTransaction(this.#db, this.#owned.tenantId, async unit => {
      const account = await lockContacts(unit, this.#owned.id)
      const folders = placedFolders(await listIndexedFolders(unit.sql, account.id))
      await recordContacts(unit, account, [contact], { folders })
      await recordMarks(unit, account.id, [contact.key])
    })
  }

  #recordRemoved(key: string): Promise<void> {
    return inTransaction(this.#db, this.#owned.tenantId, async unit => {
      const account = await lockContacts(unit, this.#owned.id)
      const ids = (await readContacts(unit.sql)).filter(row => row.key === key).map(({ id }) => id)
      await recordDeletedContacts(unit, account, ids)
      await recordMarks(unit, account.id, [key])
    })
  }
}

describe.each(KINDS)('on a provider of %s', kind => {
  test.each(SEEDS)(
    'the index equals the provider after a random history, the feed tells it, and ids stay (seed %s)',
    async seed => {
      await using database = await openTestDatabase()
      const { db } = database
      const owned = await ownContacts(db)
      const history = new History(db, owned, kind, seeded(`${kind}/${seed}`))
      const { books } = history
      const provider = books.connect()
      let state: Map<string, Contact> | null = null
      const idsBefore = new Map<string, string>()
      const pass = async () => {
        const wasInitialized = state !== null
        await passContacts(db, owned, provider).catch((error: unknown) => {
          const isExpected =
            error instanceof Killed || (error instanceof ProviderFailure && error.kind === 'not_found')
          if (!isExpected) throw error
        })
        const isInitialized = (await readContactFeed(db)).some(({ type }) => type === 'contacts.initialized')
        if (wasInitialized || !isInitialized) return
        const rows = await readContacts(db)
        state = new Map(rows.map(({ key: _key, folderKey: _folderKey, ...shown }) => [shown.id, shown]))
        for (const { key, id } of rows) idsBefore.set(books.contacts.get(key)?.uid ?? key, id)
      }
      books.onAwait = () => history.disturb()
      for (let nth = 0; nth < PASSES; nth++) await pass()
      books.onAwait = () => undefined
      while (await history.commitOne());
      for (let nth = 0; nth < 3; nth++) await pass()

      const index = await readContacts(db)
      const readable = [...books.contacts.values()].filter(({ isUnreadable }) => !isUnreadable)
      const keys = new Set(readable.map(({ key }) => key))
      expect(
        index
          .filter(({ key }) => keys.has(key))
          .map(lineOf)
          .toSorted(),
      ).toEqual(readable.map(lineOf).toSorted())
      // Contacts that became unreadable stay as they were last read.
      for (const { key } of index) expect(books.contacts.has(key)).toBe(true)

      for (const { key, id } of index) {
        const { uid, formerKeys } = books.contacts.get(key)!
        const names = [uid ?? key, ...formerKeys]
        const before = names.flatMap(name => idsBefore.get(name) ?? [])
        if (before.length > 0 && !names.some(name => history.odd.has(name))) expect(before).toContain(id)
      }

      if (kind === 'folders') expectNothingUndone(await readContactFeed(db), history.ofInterface)
      const folded = foldContacts(state!, await readContactFeed(db))
      const shown = index.map(({ key: _key, folderKey: _folderKey, ...contact }) => withoutTime(contact))
      const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)
      expect([...folded.values()].map(withoutTime).toSorted(byId)).toEqual(shown.toSorted(byId))
    },
  )
})

function lineOf({ key, folderKey, ...contact }: Contact & { key: string; folderKey: string }): string
function lineOf(contact: HeldContact): string
function lineOf(contact: { key: string; folderKey: string } & Partial<HeldContact & Contact>): string {
  const name = contact.fields ? contact.fields.displayName : contact.displayName
  return `${contact.key} in ${contact.folderKey}: ${name}`
}

/** Each change gives a later name. The sync never announces an earlier one than was announced before. */
function expectNothingUndone(
  feed: Awaited<ReturnType<typeof readContactFeed>>,
  ofInterface: ReadonlySet<number>,
): void {
  const latest = new Map<string, number>()
  for (const [nth, { data }] of feed.entries()) {
    if (!data.contact) continue
    const { id, displayName } = data.contact
    const name = Number(displayName?.slice('Name '.length))
    if (!ofInterface.has(nth)) expect(name).toBeGreaterThanOrEqual(latest.get(id) ?? 0)
    latest.set(id, name)
  }
}

const withoutTime = ({ updatedAt: _updatedAt, hasPhoto: _hasPhoto, ...contact }: Contact) => contact

/** The contacts of a consumer that had these and then read the feed. */
function foldContacts(
  state: ReadonlyMap<string, Contact>,
  feed: Awaited<ReturnType<typeof readContactFeed>>,
): Map<string, Contact> {
  const held = new Map(state)
  let isInitialized = false
  for (const { type, data } of feed) {
    if (type === 'contacts.initialized') isInitialized = true
    const { contact, changes } = data
    if (!contact) continue
    expect(isInitialized).toBe(true)
    expect(held.has(contact.id)).toBe(type !== 'contact.created')
    if (type === 'contact.updated') {
      expect(changes).not.toEqual([])
      expect(changes).not.toContain('updatedAt')
    }
    if (type === 'contact.deleted') held.delete(contact.id)
    else held.set(contact.id, contact)
  }
  return held
}

test('a process that no longer owns the account records nothing', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const owned = await ownContacts(db)
  const books = new MemoryBooks('books')
  const [book = ''] = books.folders.keys()
  books.add(book, { displayName: 'Ada' })
  const session = await openContactSession(db, owned, books.connect())
  await releaseAccounts(db, [owned])
  const options = { acquireBulkPermit: async () => PERMIT, onRead: async () => {}, onDiffering: () => {} }
  await expect(runPass(session, options)).rejects.toThrow(FenceLost)
  expect(await readContacts(db)).toEqual([])
})

test('contacts of a folder that is no longer listed stay until a second look confirms that it is gone', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const owned = await ownContacts(db)
  const books = new MemoryBooks('books')
  const second = books.createFolder('second')
  books.add(second, { displayName: 'Ada' })
  let now = 0
  const doubts = new Doubts(() => now)
  const provider = books.connect()
  await passContacts(db, owned, provider, doubts)
  const kept = books.folders.get(second)!
  books.folders.delete(second)
  await passContacts(db, owned, provider, doubts)
  expect(doubts.count).toBe(1)
  books.folders.set(second, kept)
  await passContacts(db, owned, provider, doubts)
  expect(doubts.count).toBe(0)
  expect(await readContacts(db)).toHaveLength(1)
  books.removeFolder(second)
  await passContacts(db, owned, provider, doubts)
  expect(await readContacts(db)).toHaveLength(1)
  now += SECOND_LOOK_SECONDS * 1_000
  await passContacts(db, owned, provider, doubts)
  expect(await readContacts(db)).toEqual([])
  expect(doubts.count).toBe(0)
  expect((await listIndexedFolders(db, owned.id)).map(({ name }) => name)).toEqual(['first'])
  expect((await readContactFeed(db)).map(({ type }) => type)).toEqual([
    'contacts.initialized',
    'contact.deleted',
  ])
})

test('a contact that cannot be read is left alone until it has another version', async () => {
  await using database = await openTestDatabase()
  const { db } = database
  const owned = await ownContacts(db)
  const books = new MemoryBooks('books')
  const [book = ''] = books.folders.keys()
  const { key } = books.add(book, { displayName: 'Odd' }, { isUnreadable: true })
  books.add(book, { displayName: 'Ada' })
  const provider = books.connect()
  await passContacts(db, owned, provider)
  expect((await readContacts(db)).map(({ displayName }) => displayName)).toEqual(['Ada'])
  books.loseCursors()
  books.calls.length = 0
  await passContacts(db, owned, provider)
  // A comparison that brings nothing has one page, its end.
  expect(books.calls.filter(call => call === 'page')).toHaveLength(1)
  books.setUnreadable(key, false)
  await passContacts(db, owned, provider)
  expect((await readContacts(db)).map(({ displayName }) => displayName).toSorted()).toEqual(['Ada', 'Odd'])
  const { rows } = await sql`select from quarantined_contact`.execute(db)
  expect(rows).toEqual([])
})
