import type { ChangeLog, ItemChange } from './message.ts'

/** Properties of a contact that hold one text. */
export const TEXTS = [
  'assistantName',
  'businessHomePage',
  'companyName',
  'department',
  'displayName',
  'fileAs',
  'generation',
  'givenName',
  'initials',
  'jobTitle',
  'manager',
  'middleName',
  'mobilePhone',
  'nickName',
  'officeLocation',
  'personalNotes',
  'profession',
  'spouseName',
  'surname',
  'title',
  'yomiCompanyName',
  'yomiGivenName',
  'yomiSurname',
] as const

/** The properties that are lists of texts, each with the number of entries that Exchange stores; null: there is no limit. */
export const TEXT_LISTS = {
  businessPhones: 2,
  homePhones: 2,
  imAddresses: 3,
  children: null,
  categories: null,
} as const

export const ADDRESSES = ['homeAddress', 'businessAddress', 'otherAddress'] as const

/** Email addresses that a contact has room for. */
export const EMAILS_MAX = 3

export interface ContactEmail {
  readonly name: string
  readonly address: string
}

/** Properties of a contact that a client may set. A missing text is null. */
export interface ContactFields
  extends
    Record<(typeof TEXTS)[number], string | null>,
    Record<keyof typeof TEXT_LISTS, readonly string[]>,
    Record<(typeof ADDRESSES)[number], Readonly<Record<string, string>>> {
  emailAddresses: readonly ContactEmail[]
  /** Milliseconds since 1970. */
  birthday: number | null
  /** Extended properties with one value, by their normalized ids (`propertyId`). */
  extended: ReadonlyMap<string, string>
}

export interface ContactPhoto {
  readonly contentType: string
  readonly bytes: Buffer
}

/** A contact of a mailbox. Only the functions of `contacts.ts` change it. */
export interface Contact extends Readonly<ContactFields> {
  readonly immutableId: string
  /** The id without the preference for immutable ids: another one after each move. */
  readonly id: string
  /** Counts what was made in the mailbox; later contacts have a greater number. */
  readonly number: number
  readonly folder: ContactFolder
  readonly photo: ContactPhoto | null
  readonly changeKey: string
  readonly createdAt: number
  readonly modifiedAt: number
}

/** A folder of contacts, or Deleted Items, where deleted contacts go. */
export interface ContactFolder {
  readonly id: string
  readonly number: number
  readonly displayName: string
  /** Null for the default folder, for Deleted Items, and for a folder that was deleted. */
  readonly parent: ContactFolder | null
  readonly children: Set<ContactFolder>
  /** By the order of their making. */
  readonly contacts: Set<Contact>
  readonly log: ChangeLog<Contact>
}

/** Called after each change of a contact, with the folder in which it changed. */
export type ContactListener = (folder: ContactFolder, change: ItemChange<Contact>) => void

/** The contacts of a mailbox. */
export interface Contacts {
  /** The folder that has contacts for which none is named. */
  readonly main: ContactFolder
  readonly deleted: ContactFolder
  readonly folders: Map<string, ContactFolder>
  /** Each contact by its immutable id, and by the id of its present place. */
  readonly byId: Map<string, Contact>
  readonly listeners: Set<ContactListener>
}
