import type { Folder, SearchFolder } from './message.ts'
import { foldersBelow } from './folder.ts'
import { folderId } from './ids.ts'
import { type Mailbox, nextNumber, putFolder, recordHierarchy } from './mailbox.ts'
import { removeMessage } from './messages.ts'

export interface NewFolder {
  displayName: string
  parent: Folder
  isHidden?: boolean
  search?: SearchFolder | null
}

export function addFolder(
  mailbox: Mailbox,
  { displayName, parent, isHidden = false, search = null }: NewFolder,
): Folder {
  const number = nextNumber(mailbox)
  const id = folderId(mailbox.store, number)
  return putFolder(mailbox, { id, number, wellKnownName: null, displayName, parent, isHidden, search })
}

/** Renames a folder, puts it below another, or changes its search. Its id stays. */
export function changeFolder(
  mailbox: Mailbox,
  folder: Folder,
  changes: Partial<Pick<Folder, 'displayName' | 'parent' | 'search'>>,
): void {
  if (changes.parent !== undefined && changes.parent !== folder.parent) {
    folder.parent?.children.delete(folder)
    changes.parent?.children.add(folder)
  }
  // Everybody else sees a folder whose fields are read-only.
  Object.assign(folder as object, changes)
  recordHierarchy(mailbox, 'changed', folder)
}

/** Deletes a folder for good, with all below it and their messages. */
export function removeFolder(mailbox: Mailbox, folder: Folder): void {
  for (const below of [...foldersBelow(folder)].toReversed()) {
    for (const message of below.ordered.toReversed()) removeMessage(mailbox, message)
    below.parent?.children.delete(below)
    mailbox.folders.delete(below.id)
    recordHierarchy(mailbox, 'removed', below)
  }
}

/** Finds the child of a folder that has a name, in any case. */
export function findChild(parent: Folder, displayName: string): Folder | null {
  const wanted = displayName.toLowerCase()
  return [...parent.children].find(child => child.displayName.toLowerCase() === wanted) ?? null
}
