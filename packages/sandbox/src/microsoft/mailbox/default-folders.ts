import type { Folder } from './message.ts'
import type { WellKnownName } from './well-known-names.ts'
import { folderId } from './ids.ts'
import { type Mailbox, nextNumber, putFolder } from './mailbox.ts'

const VISIBLE: readonly (readonly [WellKnownName, string])[] = [
  ['inbox', 'Inbox'],
  ['drafts', 'Drafts'],
  ['sentitems', 'Sent Items'],
  ['deleteditems', 'Deleted Items'],
  ['junkemail', 'Junk Email'],
  ['outbox', 'Outbox'],
  ['archive', 'Archive'],
  ['conversationhistory', 'Conversation History'],
]

const PROBLEMS: readonly (readonly [WellKnownName, string])[] = [
  ['conflicts', 'Conflicts'],
  ['localfailures', 'Local Failures'],
  ['serverfailures', 'Server Failures'],
]

/** Gives a new mailbox the folders that Exchange makes. */
export function addDefaultFolders(mailbox: Mailbox): void {
  const add = (
    wellKnownName: WellKnownName | null,
    displayName: string,
    parent: Folder | null,
    isHidden = false,
  ) => {
    const number = nextNumber(mailbox)
    const id = folderId(mailbox.store, number)
    return putFolder(mailbox, { id, number, wellKnownName, displayName, parent, isHidden, search: null })
  }
  const root = add('msgfolderroot', 'Top of Information Store', null)
  for (const [name, displayName] of VISIBLE) add(name, displayName, root)
  add('clutter', 'Clutter', root, true)
  add('scheduled', 'Scheduled', root, true)
  add(null, 'Conversation Action Settings', root, true)
  const problems = add('syncissues', 'Sync Issues', root, true)
  for (const [name, displayName] of PROBLEMS) add(name, displayName, problems, true)
  add('searchfolders', 'Finder', null)
  add('recoverableitemsdeletions', 'Deletions', null)
}
