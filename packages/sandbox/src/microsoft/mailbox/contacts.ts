import { newChangeLog, recordChange } from './change-log.ts'
import type { Contact, ContactFields, ContactFolder, ContactPhoto, Contacts } from './contact.ts'
import { changeKey, folderId, immutableId, placeId } from './ids.ts'
import { type Mailbox, nextChange, nextNumber, wellKnownFolder } from './mailbox.ts'
import type { ItemChange } from './message.ts'

type Writable<T> = { -readonly [Name in keyof T]: T[Name] }

/** Gives a new mailbox its folder of contacts. */
export function addDefaultContacts(mailbox: Mailbox): void {
  const number = nextNumber(mailbox)
  const { id, number: numberOfDeleted } = wellKnownFolder(mailbox, 'deleteditems')
  const contacts: Contacts = {
    main: emptyFolder(folderId(mailbox.store, number), number, 'Contacts', null),
    deleted: emptyFolder(id, numberOfDeleted, 'Deleted Items', null),
    folders: new Map(),
    byId: new Map(),
    listeners: new Set(),
  }
  contacts.folders.set(contacts.main.id, contacts.main)
  // Everybody else sees a mailbox whose fields are read-only.
  Object.assign(mailbox as Writable<Mailbox>, { contacts })
}

const emptyFolder = (
  id: string,
  number: number,
  displayName: string,
  parent: ContactFolder | null,
): ContactFolder => ({
  id,
  number,
  displayName,
  parent,
  children: new Set(),
  contacts: new Set(),
  log: newChangeLog<ItemChange<Contact>>(),
})

export function addContactFolder(
  mailbox: Mailbox,
  parent: ContactFolder,
  displayName: string,
): ContactFolder {
  const number = nextNumber(mailbox)
  const folder = emptyFolder(folderId(mailbox.store, number), number, displayName, parent)
  parent.children.add(folder)
  mailbox.contacts.folders.set(folder.id, folder)
  return folder
}

export function renameContactFolder(folder: ContactFolder, displayName: string): void {
  Object.assign(folder as Writable<ContactFolder>, { displayName })
}

/** Puts a folder into Deleted Items, with all that is in it: no list has it any more, and its contacts keep their ids. */
export function removeContactFolder(folder: ContactFolder): void {
  folder.parent?.children.delete(folder)
  Object.assign(folder as Writable<ContactFolder>, { parent: null })
}

const NOTHING: ContactFields = {
  assistantName: null,
  businessHomePage: null,
  companyName: null,
  department: null,
  displayName: null,
  fileAs: null,
  generation: null,
  givenName: null,
  initials: null,
  jobTitle: null,
  manager: null,
  middleName: null,
  mobilePhone: null,
  nickName: null,
  officeLocation: null,
  personalNotes: null,
  profession: null,
  spouseName: null,
  surname: null,
  title: null,
  yomiCompanyName: null,
  yomiGivenName: null,
  yomiSurname: null,
  businessPhones: [],
  homePhones: [],
  imAddresses: [],
  children: [],
  categories: [],
  homeAddress: {},
  businessAddress: {},
  otherAddress: {},
  emailAddresses: [],
  birthday: null,
  extended: new Map(),
}

/** The parts of a name, whose change gives a contact another display name unless the client sends one. */
const NAME_PARTS = ['title', 'givenName', 'middleName', 'surname', 'generation'] as const

/** The display name that Exchange makes of the others. */
function madeName(fields: ContactFields): string {
  const parts = NAME_PARTS.flatMap(name => fields[name] ?? [])
  return parts.join(' ') || (fields.companyName ?? fields.emailAddresses[0]?.address ?? '')
}

export function addContact(
  mailbox: Mailbox,
  folder: ContactFolder,
  given: Partial<ContactFields>,
  createdAt = mailbox.now(),
): Contact {
  const number = nextNumber(mailbox)
  const fields = { ...NOTHING, ...given }
  const contact: Writable<Contact> = {
    ...fields,
    displayName: fields.displayName ?? madeName(fields),
    fileAs: fields.fileAs ?? [fields.surname, fields.givenName].filter(Boolean).join(', '),
    immutableId: immutableId(mailbox.store, number),
    id: placeId(mailbox.store, folder.number, number),
    number,
    folder,
    photo: null,
    changeKey: changeKey(number),
    createdAt,
    modifiedAt: createdAt,
  }
  mailbox.contacts.byId.set(contact.immutableId, contact)
  enter(mailbox, contact)
  log(mailbox, contact, { kind: 'arrived', moved: false })
  return contact
}

/**
 * Changes properties of a contact where it is. A part of the name without a display name gives the contact another display
 * name (learn.microsoft.com/graph/api/resources/contact).
 */
export function changeContact(
  mailbox: Mailbox,
  contact: Contact,
  changes: Partial<ContactFields> & { photo?: ContactPhoto | null },
): void {
  const written = contact as Writable<Contact>
  const isRenamed = NAME_PARTS.some(name => name in changes) && !('displayName' in changes)
  Object.assign(written, changes)
  if (isRenamed || written.displayName === null) written.displayName = madeName(written)
  touch(mailbox, written)
  log(mailbox, contact, { kind: 'changed', moved: false, fields: Object.keys(changes) })
}

/** Moves a contact to another folder. The id of its place changes, the immutable one stays. */
export function moveContact(mailbox: Mailbox, contact: Contact, folder: ContactFolder): void {
  const written = contact as Writable<Contact>
  leave(mailbox, contact)
  log(mailbox, contact, { kind: 'left', moved: true })
  written.folder = folder
  written.id = placeId(mailbox.store, folder.number, nextNumber(mailbox))
  touch(mailbox, written)
  enter(mailbox, contact)
  log(mailbox, contact, { kind: 'arrived', moved: true, isLogged: mailbox.logsArrival() })
}

/** Deletes a contact for good: its ids find nothing from now on. */
export function removeContact(mailbox: Mailbox, contact: Contact): void {
  leave(mailbox, contact)
  mailbox.contacts.byId.delete(contact.immutableId)
  log(mailbox, contact, { kind: 'left', moved: false })
}

interface Logged extends Pick<ItemChange<Contact>, 'kind' | 'moved'> {
  isLogged?: boolean
  fields?: readonly string[]
}

function log(
  mailbox: Mailbox,
  contact: Contact,
  { kind, moved, isLogged = true, fields = [] }: Logged,
): void {
  const { folder, id } = contact
  const change = { number: nextChange(mailbox), kind, moved, item: contact, id, fields }
  if (isLogged) recordChange(folder.log, change)
  for (const listener of mailbox.contacts.listeners) listener(folder, change)
}

function touch(mailbox: Mailbox, contact: Writable<Contact>): void {
  contact.changeKey = changeKey(nextNumber(mailbox))
  contact.modifiedAt = mailbox.now()
}

function enter(mailbox: Mailbox, contact: Contact): void {
  mailbox.contacts.byId.set(contact.id, contact)
  contact.folder.contacts.add(contact)
}

function leave(mailbox: Mailbox, contact: Contact): void {
  mailbox.contacts.byId.delete(contact.id)
  contact.folder.contacts.delete(contact)
}
