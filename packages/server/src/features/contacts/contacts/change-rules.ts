import type { ContactChange, ContactFields } from '../../../providers/contacts.ts'

/** The fields of a body. Absent ones stay, and null clears. */
export type ContactInput = { [Name in keyof ContactFields]?: ContactFields[Name] | null | undefined }

/** The change that a body asks for. A blank text clears, like null. */
export function planChange({ emails, phones, ...texts }: ContactInput): ContactChange {
  const given = Object.entries(texts).filter(([, value]) => value !== undefined)
  return {
    ...Object.fromEntries(given.map(([name, value]) => [name, value?.trim() || null])),
    ...(emails !== undefined && { emails: emails ?? [] }),
    ...(phones !== undefined && { phones: phones ?? [] }),
  }
}
