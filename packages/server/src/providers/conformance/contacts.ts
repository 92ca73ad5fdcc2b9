import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { Offering } from '../connected-account.ts'
import {
  type ContactFields,
  type ContactsProvider,
  NO_FIELDS,
  type RemoteContact,
  type RemoteContactFolder,
} from '../contacts.ts'
import type { Cursor } from '../mail.ts'
import { never } from './arrangement.ts'
import { type ContactIndex, openContactIndex } from './contact-index.ts'

/** A contact as another client of the provider writes it. */
export interface WrittenContact {
  givenName: string
  familyName: string
  email: string
  /** A photo in PNG. */
  photo?: Buffer
}

/** The contacts of an account as another client changes them. Contacts are named by their keys. */
export interface ContactsWorld {
  add(contacts: readonly WrittenContact[]): Promise<string[]>
  rename(key: string, to: { givenName: string; familyName: string }): Promise<void>
  remove(key: string): Promise<void>
  /** Makes another folder, and returns its name. */
  addFolder(): Promise<string>
}

/** One account of its own at a provider that has contacts, with one empty folder. */
export interface ContactsArrangement extends AsyncDisposable {
  world: ContactsWorld
  connect(): Promise<Offering<'contacts'>>
  /** A cursor that the provider does not take, made of one that it does. */
  spoil(cursor: Cursor): Cursor
  /** A key that no contact has. */
  unknownKey: string
  /** Contacts that at least three steps bring. */
  contactsOfSteps: number
}

/** A contact with a value in each field that all providers hold. */
const FULL: ContactFields = {
  displayName: 'Dr. Ada; "Countess" Lovelace',
  givenName: 'Ada',
  middleName: 'Augusta',
  familyName: 'King, Noël',
  nickname: 'Enchantress',
  organization: 'Engines; Ltd.',
  jobTitle: 'Analyst, first',
  department: 'Numbers\\Notes',
  emails: [
    { address: 'ada@example.com', type: 'other' },
    { address: 'lovelace@example.org', type: 'other' },
  ],
  phones: [{ number: '+44 20 7946 0001', type: 'mobile' }],
  birthday: '1815-12-10',
  notes: `First line\nSecond, with; all: signs\\ ${'long '.repeat(40)}ñ`,
}

const person = (number: number): WrittenContact => ({
  givenName: `Person`,
  familyName: `Nº ${String(number).padStart(4, '0')}`,
  email: `person-${number}@example.com`,
})
const people = (count: number, from = 1) => Array.from({ length: count }, (_, index) => person(from + index))
const nameOf = ({ givenName, familyName }: Pick<WrittenContact, 'givenName' | 'familyName'>) =>
  `${givenName} ${familyName}`

/** A connected account with the index of its folder. */
interface Opened extends AsyncDisposable {
  contacts: ContactsProvider
  folder: RemoteContactFolder
  index: ContactIndex
}

async function open(arranged: ContactsArrangement): Promise<Opened> {
  const account = await arranged.connect()
  const [folder] = await account.contacts.listFolders(never)
  if (!folder) throw new Error('the arrangement has no folder')
  return {
    contacts: account.contacts,
    folder,
    index: openContactIndex(folder),
    [Symbol.asyncDispose]: () => account[Symbol.asyncDispose](),
  }
}

const hasChanged = async ({ contacts, folder, index }: Opened) =>
  (await contacts.findChanged([{ folder, cursor: index.cursor }], never)).has(folder.key)

async function listed({ contacts, folder }: Opened): Promise<Map<string, string>> {
  const all = new Map<string, string>()
  for await (const page of contacts.list(folder, never))
    for (const { key, version } of page) all.set(key, version)
  return all
}

const create = ({ contacts, folder }: Opened, fields: Partial<ContactFields>, creationId = randomUUID()) =>
  contacts.create({ folderKey: folder.key, fields: { ...NO_FIELDS, ...fields }, creationId, mayExist: false })

/** Contract of every `ContactsProvider`. `setUp` makes a new account for each test. */
export function describeContacts(name: string, setUp: () => Promise<ContactsArrangement>): void {
  describe(`${name}: following contacts`, () => {
    test('brings all contacts of a folder, with their fields, and then only the end', async () => {
      await using arranged = await setUp()
      const keys = await arranged.world.add(people(3))
      await using opened = await open(arranged)
      const { contacts, folder, index } = opened

      expect(await hasChanged(opened)).toBe(true)
      await index.follow(contacts)

      expect(index.names()).toEqual(people(3).map(nameOf))
      expect([...index.contacts.keys()].toSorted()).toEqual(keys.toSorted())
      expect(index.contacts.get(keys[1]!)).toMatchObject({
        folderKey: folder.key,
        fields: { givenName: 'Person', familyName: 'Nº 0002', emails: [{ address: 'person-2@example.com' }] },
      })
      expect(index.unreadable.size).toBe(0)
      index.takeSteps()
      expect(await hasChanged(opened)).toBe(false)
      await index.follow(contacts)
      expect(index.takeSteps().map(({ type }) => type)).toEqual(['end'])
    })

    test('brings what another client created, changed and deleted since', async () => {
      await using arranged = await setUp()
      const [, changed, gone] = await arranged.world.add(people(4))
      await using opened = await open(arranged)
      const { contacts, index } = opened
      await index.follow(contacts)
      const before = index.contacts.get(changed!)!.version

      await arranged.world.rename(changed!, { givenName: 'Grace', familyName: 'Hopper' })
      await arranged.world.remove(gone!)
      const [added] = await arranged.world.add(people(1, 10))
      expect(await hasChanged(opened)).toBe(true)
      await index.follow(contacts)

      expect(index.names()).toEqual(['Grace Hopper', ...[1, 4, 10].map(person).map(nameOf)])
      expect(index.contacts.has(added!)).toBe(true)
      expect(index.contacts.get(changed!)?.version).not.toBe(before)
      expect(await listed(opened)).toEqual(
        new Map([...index.contacts.values()].map(({ key, version }) => [key, version])),
      )
    })

    test('can be broken off after any step and taken up again', async () => {
      await using arranged = await setUp()
      const count = arranged.contactsOfSteps
      await arranged.world.add(people(count))
      await using opened = await open(arranged)
      const { contacts, index } = opened

      let passes = 0
      while (!(await index.follow(contacts, 1)) && passes < 20) passes += 1

      expect(passes).toBeGreaterThanOrEqual(3)
      expect(index.names()).toEqual(people(count).map(nameOf))
    })

    test('compares everything if the provider does not take the cursor, and loses nothing', async () => {
      await using arranged = await setUp()
      const [first, second] = await arranged.world.add(people(5))
      await using opened = await open(arranged)
      const { contacts, index } = opened
      await index.follow(contacts)
      index.takeSteps()

      await arranged.world.rename(first!, { givenName: 'Grace', familyName: 'Hopper' })
      await arranged.world.remove(second!)
      index.cursor = arranged.spoil(index.cursor!)
      await index.follow(contacts)

      expect(index.names()).toEqual(['Grace Hopper', ...[3, 4, 5].map(person).map(nameOf)])
      expect(index.comparisons).toBe(2)
      expect(await hasChanged(opened)).toBe(false)
    })

    test('brings an index that differs back to its listing if it is asked to compare everything', async () => {
      await using arranged = await setUp()
      const [lost, outdated, gone, kept] = await arranged.world.add(people(4))
      await using opened = await open(arranged)
      const { contacts, index } = opened
      await index.follow(contacts)
      const before = index.contacts.get(kept!)

      await arranged.world.remove(gone!)
      index.contacts.delete(lost!)
      index.contacts.set(outdated!, { ...index.contacts.get(outdated!)!, version: 'another' })
      index.cursor = null
      await index.follow(contacts)

      expect(await listed(opened)).toEqual(
        new Map([...index.contacts.values()].map(({ key, version }) => [key, version])),
      )
      expect([...index.contacts.keys()].toSorted()).toEqual([kept, lost, outdated].toSorted())
      expect(index.contacts.get(kept!)).toEqual(before)
    })

    test('reports every contact of a folder that was emptied as gone', async () => {
      await using arranged = await setUp()
      const keys = await arranged.world.add(people(3))
      await using opened = await open(arranged)
      const { contacts, index } = opened
      await index.follow(contacts)

      for (const key of keys) await arranged.world.remove(key)
      await index.follow(contacts)

      expect(index.names()).toEqual([])
      expect(await listed(opened)).toEqual(new Map())
    })

    test('lists the folders', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      if (!opened.contacts.hasFolders) {
        expect(await opened.contacts.listFolders(never)).toHaveLength(1)
        return
      }
      const added = await arranged.world.addFolder()

      const folders = await opened.contacts.listFolders(never)

      expect(folders.map(each => each.name)).toContain(added)
      expect(folders.filter(({ key }) => key === opened.folder.key)).toHaveLength(1)
      expect(folders.every(({ isReadOnly }) => !isReadOnly)).toBe(true)
    })

    test('reads contacts by their keys, and leaves out those that are gone', async () => {
      await using arranged = await setUp()
      const [one, two, three] = await arranged.world.add(people(3))
      await using opened = await open(arranged)
      await opened.index.follow(opened.contacts)
      await arranged.world.remove(two!)

      const read = await opened.contacts.read([three!, two!, one!, arranged.unknownKey], never)

      const found = new Map(read.contacts.map(contact => [contact.key, contact]))
      expect([...found.keys()].toSorted()).toEqual([one!, three!].toSorted())
      expect(found.get(one!)).toEqual(opened.index.contacts.get(one!))
      expect(read.unreadable).toEqual([])
    })
  })

  describeWriting(name, setUp)
}

function describeWriting(name: string, setUp: () => Promise<ContactsArrangement>): void {
  describe(`${name}: changing contacts`, () => {
    test('creates a contact with every field as it was given', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      const { contacts, index, folder } = opened
      await index.follow(contacts)

      const created = await create(opened, FULL)

      expect(created).toMatchObject({ folderKey: folder.key, fields: FULL })
      await index.follow(contacts)
      expect([...index.contacts.values()]).toEqual([asStored(created)])
    })

    test('creates a contact once, however often the same creation is tried', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      const { contacts, folder, index } = opened
      const creationId = randomUUID()
      const fields = { ...NO_FIELDS, displayName: 'Only Once', givenName: 'Only', familyName: 'Once' }

      const first = await create(opened, fields, creationId)
      const again = await contacts.create({ folderKey: folder.key, fields, creationId, mayExist: true })

      expect(again.key).toBe(first.key)
      await index.follow(contacts)
      expect(index.names()).toEqual(['Only Once'])
    })

    test('changes the fields that are named, and no others', async () => {
      await using arranged = await setUp()
      await using opened = await open(arranged)
      const { contacts, index } = opened
      const { key, version } = await create(opened, FULL)
      const change = {
        jobTitle: 'Programmer',
        notes: null,
        emails: [{ address: 'new@example.net', type: 'other' }, FULL.emails[0]!],
      } as const

      const changed = await contacts.change(key, change)

      expect(changed).toMatchObject({ key, fields: { ...FULL, ...change } })
      expect(changed.version).not.toBe(version)
      await index.follow(contacts)
      expect(index.contacts.get(key)).toEqual(asStored(changed))
    })

    test('changes a contact that another client has changed meanwhile', async () => {
      await using arranged = await setUp()
      const [key] = await arranged.world.add(people(1))
      await using opened = await open(arranged)
      const { contacts, index } = opened
      await index.follow(contacts)

      await arranged.world.rename(key!, { givenName: 'Grace', familyName: 'Hopper' })
      const changed = await contacts.change(key!, { jobTitle: 'Admiral' })

      expect(changed.fields).toMatchObject({ givenName: 'Grace', familyName: 'Hopper', jobTitle: 'Admiral' })
    })

    test('deletes a contact, whatever version it has by now', async () => {
      await using arranged = await setUp()
      const [key] = await arranged.world.add(people(2))
      await using opened = await open(arranged)
      const { contacts, index } = opened
      await index.follow(contacts)
      await arranged.world.rename(key!, { givenName: 'Grace', familyName: 'Hopper' })

      await contacts.remove(key!)

      await index.follow(contacts)
      expect(index.names()).toEqual([nameOf(person(2))])
      await expect(contacts.remove(key!)).rejects.toMatchObject({ kind: 'not_found' })
      await expect(contacts.change(key!, { notes: 'x' })).rejects.toMatchObject({ kind: 'not_found' })
      await expect(contacts.readPhoto(key!, never)).rejects.toMatchObject({ kind: 'not_found' })
    })

    test('reads a photo as it is stored, and keeps it through a change', async () => {
      await using arranged = await setUp()
      const [plain, shown] = await arranged.world.add([person(1), { ...person(2), photo: PNG }])
      await using opened = await open(arranged)
      const { contacts, index } = opened
      await index.follow(contacts)

      expect(await contacts.readPhoto(plain!, never)).toBeNull()
      await contacts.change(shown!, { notes: 'with a photo' })
      const photo = await contacts.readPhoto(shown!, never)

      const chunks = photo ? await Array.fromAsync(photo.open()) : []
      expect(Buffer.concat(chunks)).toEqual(PNG)
      expect(index.contacts.get(plain!)?.photo.type).not.toBe('some')
      const state = index.contacts.get(shown!)?.photo
      if (state?.type === 'some') expect(photo?.version).toBe(state.version)
    })
  })
}

/** A provider may not report at once when a contact was changed. */
function asStored(contact: RemoteContact) {
  return { ...contact, updatedAt: expect.toSatisfy(() => true) }
}

/** One black pixel. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNgAAAAAgABSK+kcQAAAABJRU5ErkJggg==',
  'base64',
)
