import type { Semaphore } from '../../kit/semaphore.ts'
import type { Offering } from '../connected-account.ts'
import type { ContactsProvider, RemoteContactFolder } from '../contacts.ts'
import type { GoogleApiOptions } from '../google/google-api.ts'
import { readCursor } from './cursor.ts'
import { followPeople, hasChanged, listVersions } from './following.ts'
import { PeopleApi } from './people-api.ts'
import { FOLDER_KEY } from './person.ts'
import { readPhotoOf } from './photo.ts'
import { readPeople } from './reading.ts'
import { changeContact, createContact, removeContact } from './writing.ts'

export interface PeopleAccountOptions extends GoogleApiOptions {
  /** The line in which the writes of the user wait for each other, one at a time. */
  line: Semaphore
}

/** All contacts of a user. Google's groups are labels of contacts, and hold nothing themselves. */
const FOLDER: RemoteContactFolder = {
  key: FOLDER_KEY,
  name: 'Contacts',
  isDefault: true,
  isReadOnly: false,
}

/** The contacts of a user of Google. It holds no connection of its own. */
export function peopleAccount({ line, ...options }: PeopleAccountOptions): Offering<'contacts'> {
  const api = new PeopleApi(options)
  return { contacts: new PeopleContacts(api, line), [Symbol.asyncDispose]: async () => {} }
}

/** A class, since thousands of idle accounts keep one each, and share its methods. */
class PeopleContacts implements ContactsProvider {
  readonly hasFolders = false
  readonly api: PeopleApi
  readonly line: Semaphore

  constructor(api: PeopleApi, line: Semaphore) {
    this.api = api
    this.line = line
  }

  async listFolders(): Promise<RemoteContactFolder[]> {
    return [FOLDER]
  }

  async findChanged(
    folders: Parameters<ContactsProvider['findChanged']>[0],
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>> {
    const [asked] = folders
    if (!asked) return new Set()
    const changed = await hasChanged(this.api, readCursor(asked.cursor), signal)
    return new Set(changed ? [asked.folder.key] : [])
  }

  follow(from: Parameters<ContactsProvider['follow']>[0]) {
    return followPeople(this.api, from)
  }

  list(_: RemoteContactFolder, signal: AbortSignal) {
    return listVersions(this.api, signal)
  }

  read(keys: readonly string[], signal?: AbortSignal) {
    return readPeople(this.api, keys, { signal })
  }

  create(contact: Parameters<ContactsProvider['create']>[0]) {
    return createContact(this, contact)
  }

  change(key: string, change: Parameters<ContactsProvider['change']>[1]) {
    return changeContact(this, key, change)
  }

  remove(key: string) {
    return removeContact(this, key)
  }

  readPhoto(key: string, signal: AbortSignal) {
    return readPhotoOf(this.api, key, signal)
  }
}
