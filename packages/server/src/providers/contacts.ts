/**
 * The vocabulary in which the service follows and changes the contacts of an account.
 *
 * A *folder* is what one cursor follows: an address book (CardDAV), a contact folder (Graph), or all contacts of a user
 * (Google). A *key* names a folder or a contact at the provider and is unique in the account; it is compared by bytes.
 * A *version* names one state of a contact at the provider. A *cursor* is an adapter's own JSON; the follower stores it
 * in the transaction of the step that brought it, and passes it back.
 */
import type { Cursor } from './mail.ts'

/** The most addresses and the most numbers of one contact that the interface takes. */
export const CONTACT_VALUES_MAX = 20
/** The largest photo that is passed on, in bytes. */
export const PHOTO_BYTES_MAX = 5 * 1024 * 1024

export type EmailType = 'home' | 'work' | 'other'
export type PhoneType = 'mobile' | 'home' | 'work' | 'main' | 'fax' | 'pager' | 'other'

/** The fields of a contact as the interface shows them. Null: not set. */
export interface ContactFields {
  displayName: string | null
  givenName: string | null
  middleName: string | null
  familyName: string | null
  nickname: string | null
  organization: string | null
  jobTitle: string | null
  department: string | null
  emails: ReadonlyArray<{ address: string; type: EmailType }>
  phones: ReadonlyArray<{ number: string; type: PhoneType }>
  /** `YYYY-MM-DD`, or `--MM-DD` without a year. */
  birthday: string | null
  notes: string | null
}

/** The fields of a contact that has none. */
export const NO_FIELDS: ContactFields = {
  displayName: null,
  givenName: null,
  middleName: null,
  familyName: null,
  nickname: null,
  organization: null,
  jobTitle: null,
  department: null,
  emails: [],
  phones: [],
  birthday: null,
  notes: null,
}

/** Fields to change; absent ones stay as they are. Lists replace the whole list. */
export type ContactChange = Partial<ContactFields>

export interface RemoteContactFolder {
  key: string
  name: string
  /** Whether the provider names it the default one. */
  isDefault: boolean
  /** Whether the account may only read it, as far as the provider reports. */
  isReadOnly: boolean
}

export interface RemoteContact {
  key: string
  folderKey: string
  version: string
  /** Keys that it had before the provider merged it with others. */
  formerKeys?: readonly string[]
  /** The id that a card keeps in every address book (CardDAV); null if the provider has none. */
  uid: string | null
  fields: ContactFields
  photo: RemotePhotoState
  /** When it was last changed; null if the provider does not report that. */
  updatedAt: Date | null
}

/** `unknown`: the provider was not asked. The version differs whenever the photo does. */
export type RemotePhotoState = { type: 'unknown' } | { type: 'none' } | { type: 'some'; version: string }

/** A contact that the provider has, but that cannot be read, with the reason. */
export interface UnreadableContact {
  key: string
  /** Null if the provider named none. It is read again once its version differs. */
  version: string | null
  reason: string
}

/** A contact as its folder lists it. */
export interface ListedContact {
  key: string
  version: string
}

/**
 * One step of following a folder. Steps are recorded in their order, each with the cursor after it.
 *
 * `contacts`: these are as the provider has them now. `gone`: the provider no longer has these. `end`: the folder is
 * caught up.
 */
export type ContactsStep =
  | {
      type: 'contacts'
      contacts: readonly RemoteContact[]
      unreadable: readonly UnreadableContact[]
      /** Contacts of the folder that are still to come, as far as is known; null if it is not. */
      remaining: number | null
      /** Absent if following must begin again at the former cursor after this step. */
      cursor?: Cursor
    }
  | { type: 'gone'; keys: readonly string[]; cursor?: Cursor }
  | { type: 'end'; cursor: Cursor | null }

export interface FollowFolder {
  folder: RemoteContactFolder
  /** Null for the first time, and whenever the whole folder is to be compared with the index. */
  cursor: Cursor | null
  /** The versions that the index holds of the folder, by key, unreadable contacts among them. Asked for only if needed. */
  known(): Promise<ReadonlyMap<string, string>>
  signal: AbortSignal
}

export interface NewContact {
  /** Null: the default folder. */
  folderKey: string | null
  fields: ContactFields
  /** The same in each try of one creation: by it an earlier try is found. A UUID. */
  creationId: string
  /** Whether there may have been an earlier try. */
  mayExist: boolean
}

/** A photo as the provider stores it. Read `open` once; it ends with `rejected` beyond `PHOTO_BYTES_MAX`. */
export interface RemotePhoto {
  /** As the provider names it; null if it names none. Not to be believed without a look at the bytes. */
  contentType: string | null
  version: string
  open(): AsyncIterable<Uint8Array>
}

/**
 * Follows and changes contacts. Every method throws only `ProviderFailure`: `not_found` if a folder or contact that it
 * names is gone, `forbidden` if the account may only read it, `unsupported` if the provider cannot hold a field, which
 * changes nothing, `conflict` if others kept changing the contact in between, `rejected` if the provider refuses.
 */
export interface ContactsProvider {
  /** False if the provider keeps all contacts in one place (Google): then it has exactly one folder, which is not shown. */
  readonly hasFolders: boolean

  /**
   * Makes or renews what has the provider notify of changes, if that is due. Called before each look. Rejects only if the
   * account cannot be used. Absent if the provider does not notify of changes of contacts.
   */
  keepNotifying?(signal: AbortSignal): Promise<void>

  /** All folders that hold contacts, in the order of the provider. */
  listFolders(signal: AbortSignal): Promise<RemoteContactFolder[]>

  /**
   * Whether anything of these folders may have changed since these cursors, asked as cheaply as the provider allows;
   * keys of folders that are to be followed now. A folder without a cursor is always among them.
   */
  findChanged(
    folders: ReadonlyArray<{ folder: RemoteContactFolder; cursor: Cursor | null }>,
    signal: AbortSignal,
  ): Promise<ReadonlySet<string>>

  /** The changes of a folder since its cursor. A cursor that the provider no longer takes leads to a whole comparison. */
  follow(from: FollowFolder): AsyncGenerator<ContactsStep, void, void>

  /** Keys and versions of all that a folder holds now, for comparisons. */
  list(folder: RemoteContactFolder, signal: AbortSignal): AsyncGenerator<readonly ListedContact[], void, void>

  /** These contacts as they are now. A key that is in neither list of the answer is gone. At most 50 keys. */
  read(
    keys: readonly string[],
    signal?: AbortSignal,
  ): Promise<{
    contacts: readonly RemoteContact[]
    unreadable: readonly UnreadableContact[]
  }>

  /** Creates a contact, or finds what an earlier try of the same creation made. */
  create(contact: NewContact): Promise<RemoteContact>

  /**
   * Changes a contact: what is not named stays as it is at the provider, whatever the index has. Reads the contact,
   * and applies the change again if another client was faster, three times, then it is a `conflict`.
   */
  change(key: string, change: ContactChange): Promise<RemoteContact>

  /** Deletes a contact, whatever version it has by now. `not_found` if it is gone already. */
  remove(key: string): Promise<void>

  /** The photo of a contact; null if it has none. */
  readPhoto(key: string, signal: AbortSignal): Promise<RemotePhoto | null>
}
