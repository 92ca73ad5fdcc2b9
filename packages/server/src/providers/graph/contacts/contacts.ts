import type { ContactsProvider } from '../../contacts.ts'
import type { AskOptions } from '../api.ts'
import { listVersions } from './comparing.ts'
import type { ContactsConnection } from './contacts-connection.ts'
import { findChanged, followFolder } from './following.ts'
import { listContactFolders } from './folders.ts'
import { readPhoto } from './photo.ts'
import { readContacts } from './reading.ts'
import { changeContact, createContact, removeContact } from './writing.ts'

/** The contacts of a mailbox of Microsoft Graph. Following them lets every call of its mail go first. */
export function graphContacts(connection: ContactsConnection): ContactsProvider {
  const late = (signal: AbortSignal): AskOptions => ({ urgency: 'late', signal })
  return {
    hasFolders: true,
    keepNotifying: signal => connection.subscribing.keep(signal),
    listFolders: signal => listContactFolders(connection, late(signal)),
    findChanged: (folders, signal) => findChanged(connection, folders, late(signal)),
    follow: from => followFolder(connection, from),
    list: (folder, signal) => listVersions(connection, folder.key, late(signal)),
    async read(keys, signal = connection.signal) {
      const { contacts, unreadable } = await readContacts(connection, keys, late(signal))
      return { contacts, unreadable }
    },
    create: contact => createContact(connection, contact),
    change: (key, change) => changeContact(connection, key, change),
    remove: key => removeContact(connection, key),
    readPhoto: (key, signal) => readPhoto(connection, key, signal),
  }
}
