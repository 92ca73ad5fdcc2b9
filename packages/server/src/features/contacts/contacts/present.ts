import type { Contact } from '@waxwing/contract/contacts/contacts.ts'
import { type ContactRow, fieldsOf } from './contact-row.ts'

const HAS_PHOTO = { unknown: null, none: false, some: true } as const

export function presentContact(row: ContactRow): Contact {
  const { emails, phones, ...fields } = fieldsOf(row)
  return {
    id: row.id,
    folderId: row.shown_folder_id,
    ...fields,
    emails: emails.map(({ address, type }) => ({ address, type })),
    phones: phones.map(({ number, type }) => ({ number, type })),
    hasPhoto: HAS_PHOTO[row.photo_state],
    updatedAt: row.updated_at.toISOString(),
  }
}
