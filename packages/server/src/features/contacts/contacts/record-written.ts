import type { ChangeUnit } from '../../../calls/context.ts'
import { refuse } from '../../../calls/refuse.ts'
import type { RemoteContact, RemoteContactFolder } from '../../../providers/contacts.ts'
import type { ContactsProvider } from '../../../providers/contacts.ts'
import { recordFolders } from '../folders/record.ts'
import { type IndexedFolder, listIndexedFolders } from '../folders/store.ts'
import type { ContactRow } from './contact-row.ts'
import type { PlacedFolder } from './plan.ts'
import { recordContacts } from './record.ts'
import { lockContacts } from './record-account.ts'
import { recordMarks } from './record-marks.ts'
import { findContact } from './store.ts'

/** A contact as the interface has written it to the provider. */
export interface WrittenContact {
  contact: RemoteContact
  /** The folders of the provider, if the index does not have that of the contact; otherwise null. */
  folders: { listed: RemoteContactFolder[]; isShown: boolean } | null
}

/** Reads the folders of the provider if the index does not have that of a contact which was just written. */
export async function withFolders(
  provider: ContactsProvider,
  contact: RemoteContact,
  indexed: readonly IndexedFolder[],
): Promise<WrittenContact> {
  if (indexed.some(({ key }) => key === contact.folderKey)) return { contact, folders: null }
  const listed = await provider.listFolders(AbortSignal.timeout(LIST_SECONDS * 1_000))
  return { contact, folders: { listed, isShown: provider.hasFolders } }
}

const LIST_SECONDS = 20

/**
 * Records a contact that was written to the provider, and marks it, so that no step of the sync undoes this. Null if its
 * folder is gone by now.
 * @param changedId the contact that was changed; null if it is new
 */
export async function recordWritten(
  unit: ChangeUnit,
  accountId: string,
  { contact, folders }: WrittenContact,
  changedId: string | null = null,
): Promise<ContactRow | null> {
  const account = await lockContacts(unit, accountId)
  // Somebody deleted it meanwhile, and it was announced so.
  if (changedId !== null && !(await findContact(unit.sql, accountId, changedId))) refuse('contact_not_found')
  if (folders) await recordFolders(unit, account, folders.listed, folders.isShown)
  const placed = placedFolders(await listIndexedFolders(unit.sql, accountId))
  const { ids } = await recordContacts(unit, account, [contact], { folders: placed })
  await recordMarks(unit, accountId, [contact.key])
  const id = ids.get(contact.key)
  return id === undefined ? null : findContact(unit.sql, accountId, id)
}

export function placedFolders(folders: readonly IndexedFolder[]): Map<string, PlacedFolder> {
  return new Map(folders.map(({ id, key, isShown }) => [key, { id, key, isShown }]))
}
