import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import type { ContactFolder, Contact as HeldContact } from '../../../sandbox/src/microsoft/mailbox/contact.ts'
import {
  addContact,
  addContactFolder,
  changeContact,
  moveContact,
  removeContact,
  removeContactFolder,
} from '../../../sandbox/src/microsoft/mailbox/contacts.ts'
import type { Mailbox } from '../../../sandbox/src/microsoft/mailbox/mailbox.ts'
import type { OwnedAccount } from '../../src/accounts/halves/ownership.ts'
import type { Db } from '../../src/database/pool.ts'
import { inTransaction } from '../../src/events/unit-of-work.ts'
import { recordContacts, recordDeletedContacts } from '../../src/features/contacts/contacts/record.ts'
import { lockContacts } from '../../src/features/contacts/contacts/record-account.ts'
import { recordMarks } from '../../src/features/contacts/contacts/record-marks.ts'
import { placedFolders } from '../../src/features/contacts/contacts/record-written.ts'
import { listIndexedFolders } from '../../src/features/contacts/folders/store.ts'
import { type ContactsProvider, NO_FIELDS, type RemoteContact } from '../../src/providers/contacts.ts'
import { ProviderFailure } from '../../src/providers/failure.ts'
import { Doubts } from '../../src/sync/doubts.ts'
import { ownContacts, passContacts, readContactFeed, readContacts } from '../memory-contact-account.ts'
import { openTestDatabase } from '../open-database.ts'
import { type Random, seeded } from '../seeded.ts'
import { useServer } from '../servers/shared-server.ts'
import { seedsFor } from '../sync/disturbance.ts'
import { startGraph } from './graph-server.ts'

const ROUNDS = 12
const MINUTE_MS = 60_000
/** After this time folders are compared, though nothing shows a change. */
const COMPARED_MS = 7 * 60 * MINUTE_MS

const server = useServer(startGraph)

/** The contacts of a mailbox that another client changes. */
class Others {
  readonly mailbox: Mailbox
  readonly #random: Random
  readonly #made: ContactFolder[] = []
  #count = 0

  constructor(mailbox: Mailbox, random: Random) {
    this.mailbox = mailbox
    this.#random = random
  }

  fields() {
    return { displayName: `Name ${(this.#count += 1)}`, jobTitle: this.#random.pick(['Analyst', null]) }
  }

  #folder(): ContactFolder {
    return this.#random.pick([this.mailbox.contacts.main, ...this.#made])
  }

  /** The contacts that are in a folder of contacts. */
  there(): HeldContact[] {
    return [this.mailbox.contacts.main, ...this.#made].flatMap(({ contacts }) => [...contacts])
  }

  /** Does what another client might. */
  disturb(): void {
    const { mailbox } = this
    const kind = this.#random.between(0, 16)
    const all = this.there()
    const contact = all.length === 0 ? null : this.#random.pick(all)
    if (kind < 5 || contact === null) addContact(mailbox, this.#folder(), this.fields())
    else if (kind < 8) changeContact(mailbox, contact, this.fields())
    else if (kind < 11) moveContact(mailbox, contact, this.#folder())
    else if (kind < 12) {
      const { folder } = contact
      moveContact(mailbox, contact, this.#folder())
      moveContact(mailbox, contact, folder)
    } else if (kind < 13) removeContact(mailbox, contact)
    else if (kind < 14) moveContact(mailbox, contact, mailbox.contacts.deleted)
    else if (kind < 16 && this.#made.length < 3)
      this.#made.push(addContactFolder(mailbox, this.#folder(), `Folder ${(this.#count += 1)}`))
    else if (this.#random.chance(0.3)) this.#removeFolder()
  }

  #removeFolder(): void {
    const at = this.#made.findLastIndex(({ children }) => children.size === 0)
    const [folder] = at < 0 ? [] : this.#made.splice(at, 1)
    if (folder) removeContactFolder(folder)
  }
}

/** Records the outcome of a change by the interface, as its operations do. */
async function record(
  db: Db,
  owned: OwnedAccount,
  key: string,
  contact: RemoteContact | null,
): Promise<void> {
  await inTransaction(db, owned.tenantId, async unit => {
    const account = await lockContacts(unit, owned.id)
    const held = await unit.sql.selectFrom('contact').select('id').where('provider_key', '=', key).execute()
    const folders = placedFolders(await listIndexedFolders(unit.sql, owned.id))
    if (contact) await recordContacts(unit, account, [contact], { folders })
    else {
      const ids = held.map(({ id }) => id)
      await recordDeletedContacts(unit, account, ids)
    }
    await recordMarks(unit, owned.id, [key])
  })
}

/** Makes a change by the interface. */
async function write(
  { db, owned }: { db: Db; owned: OwnedAccount },
  provider: ContactsProvider,
  others: Others,
  random: Random,
): Promise<void> {
  const held = await readContacts(db)
  const kind = random.between(0, 2)
  if (kind === 0 || held.length === 0) {
    const fields = { ...NO_FIELDS, ...others.fields() }
    const creation = { folderKey: null, fields, creationId: crypto.randomUUID(), mayExist: false }
    const made = await provider.create(creation)
    return record(db, owned, made.key, made)
  }
  const { key } = random.pick(held)
  if (kind === 1) return record(db, owned, key, await provider.change(key, others.fields()))
  await provider.remove(key)
  return record(db, owned, key, null)
}

/** A folder or contact may be deleted in the midst of a pass: the next one no longer lists it. */
function ignoreTransient(error: unknown): void {
  const isTransient =
    error instanceof ProviderFailure &&
    ['unavailable', 'throttled', 'conflict', 'not_found'].includes(error.kind)
  if (!isTransient) throw error
}

const lineOf = (key: string, folderKey: string, displayName: string | null, jobTitle: string | null) =>
  [key, folderKey, displayName, jobTitle].join(' | ')

const RUNS = (['global', 'china'] as const).flatMap(cloud =>
  seedsFor(1).map((seed): ['global' | 'china', number] => [cloud, seed]),
)

test.each(RUNS)(
  'the index comes to equal contacts that others and the interface change, with faults and expired links (%s, seed %i)',
  async (cloud, seed) => {
    await using database = await openTestDatabase()
    const { db } = database
    const graph = server()
    const random = seeded(`contacts of graph ${cloud} ${seed}`)
    // If every arrival is reported, nothing may need the comparison that comes after six hours.
    const isTold = seed % 2 === 1
    graph.mail.configure({ arrivals: isTold ? 'told' : 'random', repeats: 0.2, sparse: 0.5 })
    const longMs = isTold ? 2 * MINUTE_MS : COMPARED_MS
    const { email, mailbox } = graph.addUser(cloud)
    const others = new Others(mailbox, random)
    const owned = await ownContacts(db)
    let doubtedMs = 0
    const doubts = new Doubts(() => (doubtedMs += 30_000))
    let account = graph.connect(email, { now: () => graph.clock.now() })
    const connect = () => {
      // A connection remembers what it has seen; a process that begins again does not.
      if (random.chance(0.3)) account = graph.connect(email, { now: () => graph.clock.now() })
      return account.contacts
    }
    await passContacts(db, owned, connect(), doubts)
    const ids = new Map<string, string>()
    const keepIds = async () => {
      for (const { key, id } of await readContacts(db)) {
        expect(ids.get(key) ?? id, `the id of ${key}`).toBe(id)
        ids.set(key, id)
      }
    }

    for (let round = 0; round < ROUNDS; round += 1) {
      const mayExpire = round < ROUNDS / 2
      graph.intercept = () => {
        if (random.chance(0.3)) others.disturb()
        if (mayExpire && random.chance(0.05)) graph.mail.expire({ user: null, at: null })
        return random.chance(0.06)
          ? Response.json({ error: { code: 'UnknownError' } }, { status: 503 })
          : null
      }
      if (random.chance(0.3)) graph.clock.turn(random.pick([20_000, 2 * MINUTE_MS, longMs]))
      await passContacts(db, owned, connect(), doubts).catch(ignoreTransient)
      await write({ db, owned }, connect(), others, random).catch(ignoreTransient)
      await keepIds()
    }
    graph.intercept = null
    for (let times = 0; times < 3; times += 1) {
      graph.clock.turn(longMs)
      await sql`update quarantined_contact set next_attempt_at = clock_timestamp()`.execute(db)
      while ((await passContacts(db, owned, connect(), doubts)).hasMore);
    }
    await keepIds()

    const rows = await readContacts(db)
    const index = rows.map(({ key, folderKey, displayName, jobTitle }) =>
      lineOf(key, folderKey, displayName, jobTitle),
    )
    const truth = others
      .there()
      .map(({ immutableId, folder, displayName, jobTitle }) =>
        lineOf(immutableId, folder.id, displayName, jobTitle),
      )
    expect(index.toSorted()).toEqual(truth.toSorted())

    const folded = new Map<string, Contact>()
    for (const { type, data } of await readContactFeed(db)) {
      if (!data.contact) continue
      const { contact } = data
      expect(folded.has(contact.id), `${type} of ${contact.displayName}`).toBe(type !== 'contact.created')
      if (type === 'contact.deleted') folded.delete(contact.id)
      else folded.set(contact.id, contact)
    }
    const shown = (contacts: Iterable<Contact>) =>
      Array.from(contacts, ({ id, displayName, jobTitle, folderId }) =>
        [id, displayName, jobTitle, folderId].join(' | '),
      ).toSorted()
    expect(shown(folded.values())).toEqual(shown(rows))
  },
)
