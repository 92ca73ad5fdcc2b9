import { newId } from '../../../kit/ids.ts'
import type { RemoteContactFolder } from '../../../providers/contacts.ts'
import { isStorableKey, storable } from '../../../kit/storable.ts'
import type { IndexedFolder } from './store.ts'

/** Columns of a folder as the provider has it. */
export interface FolderColumns {
  id: string
  provider_key: string
  name: string
  position: number
  is_default: boolean
  is_read_only: boolean
  is_shown: boolean
}

export interface FoldersPlan {
  inserted: FolderColumns[]
  updated: FolderColumns[]
  /** Folders of the index that the provider does not list. */
  vanished: IndexedFolder[]
}

/** Decides what brings the folders of the index to those that the provider lists. */
export function planFolders(
  indexed: readonly IndexedFolder[],
  remotes: readonly RemoteContactFolder[],
  isShown: boolean,
): FoldersPlan {
  const left = new Map(indexed.map(folder => [folder.key, folder]))
  const plan: FoldersPlan = { inserted: [], updated: [], vanished: [] }
  const listed = new Map(remotes.filter(({ key }) => isStorableKey(key)).map(remote => [remote.key, remote]))
  const defaultKey = defaultKeyOf(indexed, [...listed.values()])
  for (const [position, remote] of [...listed.values()].entries()) {
    const before = left.get(remote.key)
    left.delete(remote.key)
    const columns = {
      id: before?.id ?? newId(),
      provider_key: remote.key,
      name: storable(remote.name),
      position,
      is_default: remote.key === defaultKey,
      is_read_only: remote.isReadOnly,
      is_shown: isShown,
    }
    if (!before) plan.inserted.push(columns)
    else if (differs(before, columns)) plan.updated.push(columns)
  }
  plan.vanished = [...left.values()]
  return plan
}

/**
 * The key of the default folder: the one that the provider names, else the one that is it by now, else the writable one
 * that was indexed first. Null if there is none.
 */
function defaultKeyOf(
  indexed: readonly IndexedFolder[],
  remotes: readonly RemoteContactFolder[],
): string | null {
  const named = remotes.find(({ isDefault }) => isDefault)
  if (named) return named.key
  const writable = new Set(remotes.flatMap(({ key, isReadOnly }) => (isReadOnly ? [] : key)))
  // Ids grow with the time at which they are made.
  const known = indexed
    .filter(({ key }) => writable.has(key))
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))
  return known.find(({ isDefault }) => isDefault)?.key ?? known[0]?.key ?? [...writable][0] ?? null
}

function differs(before: IndexedFolder, next: FolderColumns): boolean {
  return (
    before.name !== next.name ||
    before.position !== next.position ||
    before.isDefault !== next.is_default ||
    before.isReadOnly !== next.is_read_only ||
    before.isShown !== next.is_shown
  )
}
