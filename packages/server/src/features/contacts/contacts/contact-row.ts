import { type RawBuilder, sql } from 'kysely'
import type { ContactFields, RemotePhotoState } from '../../../providers/contacts.ts'

/** Columns of a contact with everything that the interface shows; select them with `contactColumns`. */
export interface ContactRow {
  id: string
  account_id: string
  folder_id: string
  provider_key: string
  version: string
  uid: string | null
  display_name: string | null
  given_name: string | null
  middle_name: string | null
  family_name: string | null
  nickname: string | null
  organization: string | null
  job_title: string | null
  department: string | null
  emails: ContactFields['emails']
  phones: ContactFields['phones']
  birthday: string | null
  notes: string | null
  photo_state: RemotePhotoState['type']
  photo_version: string | null
  sort_name: string
  missing_look: string | null
  updated_at: Date
  /** Null if the provider has no folders. */
  shown_folder_id: string | null
}

const NAMES = [
  'id',
  'account_id',
  'folder_id',
  'provider_key',
  'version',
  'uid',
  'display_name',
  'given_name',
  'middle_name',
  'family_name',
  'nickname',
  'organization',
  'job_title',
  'department',
  'emails',
  'phones',
  'birthday',
  'notes',
  'photo_state',
  'photo_version',
  'sort_name',
  'missing_look',
  'updated_at',
] as const

/** The columns of `ContactRow`, of a statement that reads or writes `contact`. */
export const contactColumns: RawBuilder<ContactRow> = sql`${sql.raw(NAMES.map(name => `contact.${name}`).join(', '))},
  (select folder.id from contact_folder as folder where folder.id = contact.folder_id and is_shown) as shown_folder_id`

export function fieldsOf(row: ContactRow): ContactFields {
  return {
    displayName: row.display_name,
    givenName: row.given_name,
    middleName: row.middle_name,
    familyName: row.family_name,
    nickname: row.nickname,
    organization: row.organization,
    jobTitle: row.job_title,
    department: row.department,
    emails: row.emails,
    phones: row.phones,
    birthday: row.birthday,
    notes: row.notes,
  }
}

export function photoOf({
  photo_state: type,
  photo_version: version,
}: Pick<ContactRow, 'photo_state' | 'photo_version'>): RemotePhotoState {
  if (type === 'some') return { type, version: version ?? '' }
  return { type }
}
