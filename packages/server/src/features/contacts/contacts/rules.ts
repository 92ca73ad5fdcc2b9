import { isDeepStrictEqual } from 'node:util'
import type { ContactChange as ChangedField } from '@waxwing/contract/contacts/contacts.ts'
import type { ContactFields, RemoteContact, RemotePhotoState } from '../../../providers/contacts.ts'

/** The account whose contacts are recorded, as the database has it now. */
export interface ContactAccount {
  id: string
  tenantId: string
  /** Whether the first sync is complete: before it, nothing is announced. */
  isInitialized: boolean
}

/** A cursor of a list holds the name by which it goes on. */
const SORT_CHARACTERS_MAX = 64

export const TEXT_FIELDS = [
  'displayName',
  'givenName',
  'middleName',
  'familyName',
  'nickname',
  'organization',
  'jobTitle',
  'department',
  'birthday',
  'notes',
] as const satisfies ReadonlyArray<keyof ContactFields>

/** Whether people can tell the contact from others: by a name, an organization, an address or a number. */
export function isIdentifiable(fields: ContactFields): boolean {
  const { displayName, givenName, middleName, familyName, nickname, organization, emails, phones } = fields
  const names = [displayName, givenName, middleName, familyName, nickname, organization]
  return names.some(name => name !== null) || emails.length > 0 || phones.length > 0
}

/** The text by which lists are ordered: the display name, else what stands in for it, without regard to case. */
export function sortNameOf({
  displayName,
  givenName,
  familyName,
  organization,
  emails,
}: Pick<ContactFields, 'displayName' | 'givenName' | 'familyName' | 'organization' | 'emails'>): string {
  const given = [givenName, familyName].filter(part => part !== null).join(' ')
  const name = displayName ?? (given || (organization ?? emails[0]?.address ?? ''))
  return [...lowerCase(name)].slice(0, SORT_CHARACTERS_MAX).join('')
}

/** The text that searches look in. Its parts are separated by what no search contains. */
export function searchTextOf(fields: ContactFields): string {
  const { displayName, givenName, middleName, familyName, nickname, organization, emails } = fields
  const names = [displayName, givenName, middleName, familyName, nickname, organization]
  const parts = [...names.filter(name => name !== null), ...emails.map(({ address }) => address)]
  return parts.map(lowerCase).join('\n')
}

/** A text as it is compared without regard to case. */
export function lowerCase(text: string): string {
  return text
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/\p{Cc}/gu, ' ')
}

/** The photo of a contact as it was last known. */
export interface KnownPhoto {
  version: string
  photo: RemotePhotoState
}

/** The state of a photo after the contact was read. A provider that was not asked may have another one by now. */
export function nextPhoto(
  before: KnownPhoto | null,
  { version, photo }: Pick<RemoteContact, 'version' | 'photo'>,
): RemotePhotoState {
  return photo.type === 'unknown' && before?.version === version ? before.photo : photo
}

/** A contact as it is shown, as far as it is compared. */
export interface ComparedContact {
  fields: ContactFields
  /** Null if the provider has no folders. */
  shownFolderId: string | null
  photo: RemotePhotoState
}

/** The names of the fields that differ, as `contact.updated` has them. It is no news that a photo is known, or not. */
export function changedContactFields(before: ComparedContact, after: ComparedContact): ChangedField[] {
  const changed: ChangedField[] = TEXT_FIELDS.filter(name => before.fields[name] !== after.fields[name])
  for (const name of ['emails', 'phones'] as const)
    if (!isDeepStrictEqual(before.fields[name], after.fields[name])) changed.push(name)
  if (before.shownFolderId !== after.shownFolderId) changed.push('folderId')
  const known = [before.photo.type, after.photo.type]
  if (!known.includes('unknown') && known[0] !== known[1]) changed.push('hasPhoto')
  return changed
}
