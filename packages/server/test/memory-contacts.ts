import {
  type ContactChange,
  type ContactFields,
  type ContactsProvider,
  type ContactsStep,
  type FollowFolder,
  type NewContact,
  NO_FIELDS,
  type RemoteContact,
  type RemoteContactFolder,
  type UnreadableContact,
} from '../src/providers/contacts.ts'
import { ProviderFailure } from '../src/providers/failure.ts'
import { ChangeLog } from './memory-following.ts'

/**
 * `books`: a key belongs to a folder, and a card keeps its uid when it moves (CardDAV). `folders`: a key lasts, and the
 * provider is not asked about photos (Graph). `people`: all contacts are in one place, and can be merged (Google).
 */
export type BooksKind = 'books' | 'folders' | 'people'

export interface HeldContact {
  key: string
  folderKey: string
  version: string
  uid: string | null
  formerKeys: string[]
  fields: ContactFields
  photo: Buffer | null
  creationId: string | null
  isUnreadable: boolean
}

/** A provider of contacts without a network. `onAwait` is called wherever it awaits. */
export class MemoryBooks {
  readonly kind: BooksKind
  readonly folders = new Map<string, RemoteContactFolder>()
  readonly contacts = new Map<string, HeldContact>()
  onAwait: () => void | Promise<void> = () => undefined
  /** Changes that are made, and whose answers do not come any more. */
  lostAnswers = 0
  /** Calls by method, for tests of what is asked. */
  readonly calls: string[] = []
  readonly #log = new ChangeLog()

  constructor(kind: BooksKind) {
    this.kind = kind
    this.createFolder('first', true)
  }

  createFolder(name: string, isDefault = false): string {
    const key = this.kind === 'books' ? `/book-${this.#log.next()}/` : `folder-${this.#log.next()}`
    this.folders.set(key, { key, name, isDefault, isReadOnly: false })
    return key
  }

  /** Removes a folder with its contacts. */
  removeFolder(key: string): void {
    this.folders.delete(key)
    for (const contact of this.contacts.values())
      if (contact.folderKey === key) this.contacts.delete(contact.key)
  }

  add(folderKey: string, fields: Partial<ContactFields>, given: Partial<HeldContact> = {}): HeldContact {
    const n = this.#log.next()
    const uid = this.kind === 'books' ? (given.uid ?? `uid-${n}`) : null
    const key = this.kind === 'books' ? `${folderKey}${n}.vcf` : `contact-${n}`
    const contact: HeldContact = {
      key,
      folderKey,
      version: '',
      formerKeys: [],
      photo: null,
      creationId: null,
      isUnreadable: false,
      ...given,
      uid,
      fields: { ...NO_FIELDS, ...fields },
    }
    this.contacts.set(key, contact)
    this.#touch(contact)
    return contact
  }

  update(key: string, change: ContactChange): HeldContact {
    const contact = this.#require(key)
    contact.fields = { ...contact.fields, ...change }
    this.#touch(contact)
    return contact
  }

  setPhoto(key: string, photo: Buffer | null): void {
    const contact = this.#require(key)
    contact.photo = photo
    this.#touch(contact)
  }

  setUnreadable(key: string, isUnreadable: boolean): void {
    const contact = this.#require(key)
    contact.isUnreadable = isUnreadable
    this.#touch(contact)
  }

  remove(key: string): void {
    const contact = this.#require(key)
    this.contacts.delete(key)
    this.#note(contact)
  }

  move(key: string, folderKey: string): void {
    const contact = this.#require(key)
    if (contact.folderKey === folderKey) return
    this.contacts.delete(key)
    this.#note(contact)
    const moved = { ...contact, folderKey }
    if (this.kind === 'books') moved.key = `${folderKey}${this.#log.next()}.vcf`
    this.contacts.set(moved.key, moved)
    this.#touch(moved)
  }

  /** Merges two people into one with another key. */
  merge(one: string, other: string): HeldContact {
    const [first, second] = [this.#require(one), this.#require(other)]
    const formerKeys = [first, second].flatMap(({ key, formerKeys: before }) => [key, ...before])
    const merged = this.add(first.folderKey, first.fields, { formerKeys })
    this.remove(one)
    this.remove(other)
    return merged
  }

  /** Makes every cursor invalid. */
  loseCursors(): void {
    this.#log.loseCursors()
  }

  /** The provider over one connection. */
  connect(): ContactsProvider {
    const wait = async (call: string) => {
      this.calls.push(call)
      await this.onAwait()
    }
    return {
      hasFolders: this.kind !== 'people',
      listFolders: async () => {
        await wait('listFolders')
        return [...this.folders.values()]
      },
      findChanged: async folders => {
        const isChanged = ({ folder, cursor }: (typeof folders)[number]) =>
          this.#log.hasNews(folder.key, cursor)
        const changed = folders.filter(isChanged).map(({ folder }) => folder.key)
        // It may be out of date when it arrives.
        await wait('findChanged')
        return new Set(changed)
      },
      follow: from => this.#follow(from, wait),
      list: async function* (this: MemoryBooks, folder: RemoteContactFolder) {
        await wait('list')
        yield this.#membersOf(folder.key).map(({ key, version }) => ({ key, version }))
      }.bind(this),
      read: async keys => {
        await wait('read')
        return this.#present(keys.flatMap(key => this.#find(key) ?? []))
      },
      create: async contact => {
        await wait('create')
        return this.#answer(this.#create(contact))
      },
      change: async (key, change) => {
        await wait('change')
        return this.#answer(this.#remote(this.update(key, change)))
      },
      remove: async key => {
        await wait('remove')
        this.#answer(this.remove(key))
      },
      readPhoto: async key => {
        await wait('readPhoto')
        const { photo, version } = this.#require(key)
        return photo && { contentType: null, version: `photo of ${version}`, open: () => piecesOf(photo) }
      },
    }
  }

  async *#follow(
    { folder, cursor, known }: FollowFolder,
    wait: (call: string) => Promise<void>,
  ): AsyncGenerator<ContactsStep, void, void> {
    await wait('follow')
    if (!this.folders.has(folder.key)) throw new ProviderFailure('not_found', 'There is no such folder.')
    const collection = {
      name: folder.key,
      wait,
      list: () => ({ wanted: this.#membersOf(folder.key), all: this.#membersOf(folder.key) }),
      find: (key: string) => this.#memberOf(folder.key, key),
      present: (contacts: readonly HeldContact[]) => this.#present(contacts),
      omitsBrief: this.kind === 'books',
    }
    for await (const step of this.#log.follow(collection, cursor, known)) {
      if (step.type !== 'page') yield step
      else {
        const { type: _, page, ...rest } = step
        yield { type: 'contacts', ...page, ...rest }
      }
    }
  }

  #answer<T>(answer: T): T {
    if (this.lostAnswers === 0) return answer
    this.lostAnswers--
    throw new ProviderFailure('unavailable', 'The connection broke.')
  }

  #create({ folderKey, fields, creationId, mayExist }: NewContact): RemoteContact {
    const made = mayExist ? [...this.contacts.values()].find(one => one.creationId === creationId) : undefined
    const target = folderKey ?? [...this.folders.values()].find(({ isDefault }) => isDefault)?.key
    if (target === undefined || !this.folders.has(target))
      throw new ProviderFailure('not_found', 'There is no such folder.')
    return this.#remote(made ?? this.add(target, fields, { creationId }))
  }

  #membersOf(folderKey: string): HeldContact[] {
    return [...this.contacts.values()].filter(contact => contact.folderKey === folderKey)
  }

  #memberOf(folderKey: string, key: string): HeldContact | null {
    const contact = this.contacts.get(key)
    return contact?.folderKey === folderKey ? contact : null
  }

  /** People are found by the keys that they had. */
  #find(key: string): HeldContact | undefined {
    return this.contacts.get(key) ?? [...this.contacts.values()].find(one => one.formerKeys.includes(key))
  }

  #require(key: string): HeldContact {
    const contact = this.#find(key)
    if (!contact) throw new ProviderFailure('not_found', 'There is no such contact.')
    return contact
  }

  #touch(contact: HeldContact): void {
    contact.version = `v${this.#note(contact)}`
  }

  #note({ folderKey, key }: HeldContact): number {
    return this.#log.note(folderKey, key)
  }

  #present(contacts: readonly HeldContact[]): { contacts: RemoteContact[]; unreadable: UnreadableContact[] } {
    const unreadable = contacts.filter(({ isUnreadable }) => isUnreadable)
    return {
      contacts: contacts.filter(({ isUnreadable }) => !isUnreadable).map(one => this.#remote(one)),
      unreadable: unreadable.map(({ key, version }) => ({ key, version, reason: 'it is broken' })),
    }
  }

  #remote({ key, folderKey, version, uid, formerKeys, fields, photo }: HeldContact): RemoteContact {
    const some = { type: 'some' as const, version: `photo of ${version}` }
    return {
      key,
      folderKey,
      version,
      uid,
      formerKeys: [...formerKeys],
      fields: { ...fields },
      photo: this.kind === 'folders' ? { type: 'unknown' } : photo ? some : { type: 'none' },
      updatedAt: null,
    }
  }
}

async function* piecesOf(photo: Buffer): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < photo.length; at += 64 * 1024) yield photo.subarray(at, at + 64 * 1024)
}
