import type { ContactFolder } from '@waxwing/contract/contacts/contacts.ts'
import type { FolderRow } from './store.ts'

export function presentFolder({ id, name, is_default: isDefault }: FolderRow): ContactFolder {
  return { id, name, isDefault }
}
