import type { SecureContext } from 'node:tls'
import type { EgressGuard } from '../../kit/egress/guard.ts'
import type { Offering } from '../connected-account.ts'
import type {
  ContactsProvider,
  ContactsStep,
  FollowFolder,
  ListedContact,
  NewContact,
  RemoteContact,
  RemoteContactFolder,
  UnreadableContact,
} from '../contacts.ts'
import type { Cursor } from '../mail.ts'
import { type AddressBook, findBook, findBooks } from './address-books.ts'
import { DavClient } from './client.ts'
import { requireWithin } from './collections.ts'
import { changedAmong } from './cursor.ts'
import { followCollection, type FollowedCollection, listVersions } from './following.ts'
import type { FileThread } from './file-thread.ts'
import { readFiles } from './files.ts'
import { canonicalPath, isMember, isWithin, urlOf } from './hrefs.ts'
import { askChanges, listMembers } from './listing.ts'
import type { DavLogin, LoginSchemes } from './login.ts'
import { type PhotoSource, readPhotoOf } from './photo.ts'
import { CARDS } from './reading.ts'
import { trustedDomainOf } from './trusted-domain.ts'
import { changeCard, createCard, removeCard } from './writing.ts'

export interface CardDavOptions {
  /** The home of the user's address books, as `findHomes` found it. */
  home: URL
  login: DavLogin
  guard: EgressGuard
  files: FileThread
  authorities: SecureContext | undefined
  /** Kept by the caller over several connections. */
  schemes: LoginSchemes
  /** Ends all requests. */
  signal: AbortSignal
}

type ReadContacts = { contacts: RemoteContact[]; unreadable: UnreadableContact[] }

/** Opens the address books of an account. Nothing is asked yet, and an idle one holds no connection. */
export function cardDavAccount(options: CardDavOptions): Offering<'contacts'> {
  return new CardDavAccount(options)
}

class CardDavAccount implements Offering<'contacts'> {
  readonly contacts: ContactsProvider
  readonly #clients: readonly DavClient[]

  constructor({ home, login, guard, files, authorities, schemes, signal }: CardDavOptions) {
    const access = { login, schemes, trusted: trustedDomainOf(home) }
    const client = new DavClient({ guard, authorities, access, signal })
    const stranger = new DavClient({ guard, authorities, access: null, signal })
    this.#clients = [client, stranger]
    this.contacts = new CardDav({ client, stranger, home, files })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map(client => client[Symbol.asyncDispose]()))
  }
}

/** A class, since thousands of idle accounts keep one each, and share its methods. */
class CardDav implements ContactsProvider, PhotoSource {
  readonly hasFolders = true
  readonly client: DavClient
  readonly stranger: DavClient
  readonly home: URL
  readonly files: FileThread

  constructor({ client, stranger, home, files }: PhotoSource) {
    this.client = client
    this.stranger = stranger
    this.home = home
    this.files = files
  }

  async listFolders(signal: AbortSignal): Promise<RemoteContactFolder[]> {
    return (await findBooks(this.client, this.home, signal)).map(folderOf)
  }

  async findChanged(
    folders: ReadonlyArray<{ folder: RemoteContactFolder; cursor: Cursor | null }>,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const books = await findBooks(this.client, this.home, signal)
    return changedAmong(
      books,
      folders.map(({ folder, cursor }) => ({ key: folder.key, cursor })),
    )
  }

  async *follow({ folder, cursor, known, signal }: FollowFolder): AsyncGenerator<ContactsStep, void, void> {
    const steps = followCollection(this.#bookOf(folder.key, signal), { cursor, known })
    for await (const step of steps) {
      if (step.type !== 'items') yield step
      else {
        const { items: contacts, unreadable, remaining } = step
        yield { type: 'contacts', contacts, unreadable, remaining }
      }
    }
  }

  list(
    folder: RemoteContactFolder,
    signal: AbortSignal,
  ): AsyncGenerator<readonly ListedContact[], void, void> {
    return listVersions(this.#bookOf(folder.key, signal))
  }

  async read(keys: readonly string[], signal?: AbortSignal): Promise<ReadContacts> {
    const result: ReadContacts = { contacts: [], unreadable: [] }
    const books = Map.groupBy(keys, key => key.slice(0, key.lastIndexOf('/')))
    for (const [book, paths] of books) {
      if (!isWithin(book, canonicalPath(this.home.pathname))) continue
      const { items, unreadable } = await this.#bookOf(book, signal).read(paths)
      result.contacts.push(...items)
      result.unreadable.push(...unreadable)
    }
    return result
  }

  create(contact: NewContact) {
    return createCard(this, contact)
  }

  change(key: string, change: Parameters<ContactsProvider['change']>[1]) {
    return changeCard(this, key, change)
  }

  remove(key: string) {
    return removeCard(this, key)
  }

  readPhoto(key: string, signal: AbortSignal) {
    return readPhotoOf(this, key, signal)
  }

  #askedBook(path: string) {
    return { path, url: urlOf(requireWithin(path, this.home), this.home, true) }
  }

  #bookOf(path: string, signal: AbortSignal | undefined): FollowedCollection<RemoteContact> {
    const asked = this.#askedBook(path)
    return {
      describe: () => findBook(this.client, this.home, path, signal),
      list: () => listMembers(this.client, asked, signal),
      askChanges: token => askChanges(this.client, asked, token, signal),
      read: paths =>
        readFiles(
          this,
          CARDS,
          paths.filter(one => isMember(one, path)),
          signal,
        ),
    }
  }
}

function folderOf({ path, name, isReadOnly }: AddressBook): RemoteContactFolder {
  // CardDAV has no default address book.
  return { key: path, name, isDefault: false, isReadOnly }
}
