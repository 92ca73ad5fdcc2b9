import type { Contact, ContactFolder } from '../../mailbox/contact.ts'
import { itemNotFound, malformedId } from '../errors.ts'
import { isIdForm } from '../messages.ts'
import type { MethodCall } from '../method.ts'

/** Paths of lists of contacts: of the default folder, and of any folder. */
export const LIST_PATHS = [
  'contacts',
  'contactFolders/{folder}/contacts',
  'contactFolders/{parent}/childFolders/{folder}/contacts',
] as const

export const CONTACT_PATHS = LIST_PATHS.map(path => `${path}/{contact}`)

/** Paths of one folder. */
export const FOLDER_PATHS = [
  'contactFolders/{folder}',
  'contactFolders/{parent}/childFolders/{folder}',
] as const

/** Finds the folder of a call, by its id or as `contacts`; without one in the path, the default folder. */
export function requireContactFolder({
  mailbox,
  params,
}: Pick<MethodCall, 'mailbox' | 'params'>): ContactFolder {
  const id = params['folder'] ?? 'contacts'
  const { folders, main } = mailbox.contacts
  const folder = id.toLowerCase() === 'contacts' ? main : folders.get(id)
  if (folder) return folder
  throw isIdForm(id) ? itemNotFound() : malformedId()
}

/** Finds the contact of a call, which has to be in the folder of the path if there is one. */
export function requireContact({ mailbox, params }: Pick<MethodCall, 'mailbox' | 'params'>): Contact {
  const id = params['contact'] ?? ''
  const contact = mailbox.contacts.byId.get(id)
  if (!contact) throw isIdForm(id) ? itemNotFound() : malformedId()
  const folder = params['folder'] === undefined ? null : requireContactFolder({ mailbox, params })
  if (folder && folder !== contact.folder) throw itemNotFound()
  return contact
}
