import type { ContactChange as ChangedField } from '@waxwing/contract/contacts/contacts.ts'
import { newId } from '../../../kit/ids.ts'
import { KEY_BYTES_MAX, isStorableKey, storable } from '../../../kit/storable.ts'
import type { ContactFields, RemoteContact } from '../../../providers/contacts.ts'
import { type ContactRow, fieldsOf, photoOf } from './contact-row.ts'
import {
  changedContactFields,
  type KnownPhoto,
  nextPhoto,
  searchTextOf,
  sortNameOf,
  TEXT_FIELDS,
} from './rules.ts'

/** A folder of the index that contacts are recorded into. */
export interface PlacedFolder {
  id: string
  key: string
  isShown: boolean
}

/** Columns of a contact as a plan writes them. */
export type ContactColumns = Omit<
  ContactRow,
  'account_id' | 'missing_look' | 'shown_folder_id' | 'updated_at'
> & {
  search_text: string
  /** Null: now. */
  updated_at: string | null
}

/** The writes that bring the index to the contacts that were read. */
export interface ContactsPlan {
  inserted: ContactColumns[]
  updated: Array<{ columns: ContactColumns; changes: ChangedField[] }>
  /** Rows that were merged into others. */
  mergedIds: string[]
}

/**
 * Decides which contact of the index each that was read is: the one with its key, or with a key that it had before, or one
 * with its uid that is gone from where it was.
 * @param rows of the index with these keys, former keys and uids
 * @param folderOf the folder of a contact; null: the folder is not known, and the contact is left out
 * @param goneKeys keys that the provider was asked about, and no longer has
 */
export function planContacts(
  rows: readonly ContactRow[],
  remotes: readonly RemoteContact[],
  { folderOf, goneKeys }: { folderOf(key: string): PlacedFolder | null; goneKeys: ReadonlySet<string> },
): ContactsPlan {
  const read = new Map(remotes.filter(({ key }) => isStorableKey(key)).map(remote => [remote.key, remote]))
  const free = new Map(rows.map(row => [row.provider_key, row]))
  const plan: ContactsPlan = { inserted: [], updated: [], mergedIds: [] }
  const take = (key: string) => {
    const row = free.get(key)
    free.delete(key)
    return row
  }
  // Rows with the key itself first, so that no other contact takes them over.
  const known = new Map([...read.keys()].map(key => [key, take(key)]))
  for (const remote of read.values()) {
    const folder = folderOf(remote.folderKey)
    if (!folder) continue
    const former = (remote.formerKeys ?? []).flatMap(key => take(key) ?? [])
    const row = known.get(remote.key) ?? former.shift() ?? takeMoved(free, remote, goneKeys)
    plan.mergedIds.push(...former.map(({ id }) => id))
    if (row) planUpdate(plan, row, remote, folder)
    else plan.inserted.push(columnsOf(newId(), remote, folder, null))
  }
  return plan
}

/** A contact with this uid that is in no folder any more has moved. A contact that is still there is another copy. */
function takeMoved(
  free: Map<string, ContactRow>,
  { uid }: RemoteContact,
  goneKeys: ReadonlySet<string>,
): ContactRow | undefined {
  if (uid === null) return undefined
  for (const [key, row] of free) {
    if (row.uid !== uid || (row.missing_look === null && !goneKeys.has(key))) continue
    free.delete(key)
    return row
  }
  return undefined
}

function planUpdate(plan: ContactsPlan, row: ContactRow, remote: RemoteContact, folder: PlacedFolder): void {
  const photo = nextPhoto({ version: row.version, photo: photoOf(row) }, remote)
  const columns = columnsOf(row.id, remote, folder, { version: row.version, photo: photoOf(row) })
  const before = { fields: fieldsOf(row), shownFolderId: row.shown_folder_id, photo: photoOf(row) }
  const after = { fields: fieldsOfColumns(columns), shownFolderId: folder.isShown ? folder.id : null, photo }
  const changes = changedContactFields(before, after)
  const given = columns.updated_at ?? (changes.length > 0 ? null : row.updated_at.toISOString())
  const next = { ...columns, updated_at: given }
  if (changes.length > 0 || differs(row, next)) plan.updated.push({ columns: next, changes })
}

/** Whether a row differs in what is not shown. */
function differs(row: ContactRow, next: ContactColumns): boolean {
  return (
    row.missing_look !== null ||
    row.provider_key !== next.provider_key ||
    row.folder_id !== next.folder_id ||
    row.version !== next.version ||
    row.uid !== next.uid ||
    row.photo_state !== next.photo_state ||
    row.photo_version !== next.photo_version ||
    row.sort_name !== next.sort_name ||
    row.updated_at.toISOString() !== next.updated_at
  )
}

function columnsOf(
  id: string,
  remote: RemoteContact,
  folder: PlacedFolder,
  known: KnownPhoto | null,
): ContactColumns {
  const fields = storableFields(remote.fields)
  const photo = nextPhoto(known, remote)
  return {
    id,
    folder_id: folder.id,
    provider_key: remote.key,
    version: storable(remote.version),
    uid: remote.uid !== null && Buffer.byteLength(remote.uid) <= KEY_BYTES_MAX ? storable(remote.uid) : null,
    display_name: fields.displayName,
    given_name: fields.givenName,
    middle_name: fields.middleName,
    family_name: fields.familyName,
    nickname: fields.nickname,
    organization: fields.organization,
    job_title: fields.jobTitle,
    department: fields.department,
    emails: fields.emails,
    phones: fields.phones,
    birthday: fields.birthday,
    notes: fields.notes,
    photo_state: photo.type,
    photo_version: photo.type === 'some' ? storable(photo.version) : null,
    sort_name: sortNameOf(fields),
    search_text: searchTextOf(fields),
    updated_at: remote.updatedAt?.toISOString() ?? null,
  }
}

function fieldsOfColumns(columns: ContactColumns): ContactFields {
  return fieldsOf({ ...NO_ROW, ...columns, updated_at: new Date(0) })
}

const NO_ROW = { account_id: '', missing_look: null, shown_folder_id: null }

function storableFields(fields: ContactFields): ContactFields {
  const texts = TEXT_FIELDS.map(name => [name, fields[name] === null ? null : storable(fields[name])])
  return {
    ...fields,
    ...Object.fromEntries(texts),
    emails: fields.emails.map(({ address, type }) => ({ address: storable(address), type })),
    phones: fields.phones.map(({ number, type }) => ({ number: storable(number), type })),
  }
}
