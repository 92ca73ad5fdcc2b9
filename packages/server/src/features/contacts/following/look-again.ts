import type { RemoteContact } from '../../../providers/contacts.ts'
import { MARKS_MAX, settledAnswer } from '../../../sync/looks/marked.ts'
import { recordContacts } from '../contacts/record.ts'
import { listingMarked, listMarks, type MarkedKey, settleMarks } from '../contacts/record-marks.ts'
import { markGone } from '../contacts/record-missing.ts'
import { placedFolders } from '../contacts/record-written.ts'
import type { IndexedFolder } from '../folders/store.ts'
import { listDue, quarantine, releaseFromQuarantine } from './quarantine.ts'
import { findMovedFrom, READ_AT_ONCE } from './record-step.ts'
import { type Session, underFence } from './session.ts'

/**
 * Lists contacts that the interface changed, before their folders are followed. If a mark were made and settled within one
 * pass, after the folder was looked at, a server that leaves out what came and went between two looks would never tell
 * of the end of a contact that was created then.
 */
export function listMarked({ db, owned }: Session): Promise<MarkedKey[]> {
  return listMarks(db, owned.id, MARKS_MAX)
}

/**
 * Asks the provider about contacts that the interface changed, and records its answer. Contacts that were changed
 * again meanwhile are left for the next time.
 */
export async function lookAtMarked(
  session: Session,
  folders: readonly IndexedFolder[],
  marked: readonly MarkedKey[],
): Promise<void> {
  for (let at = 0; at < marked.length; at += READ_AT_ONCE)
    await lookAt(session, folders, marked.slice(at, at + READ_AT_ONCE))
}

async function lookAt(
  session: Session,
  folders: readonly IndexedFolder[],
  marked: readonly MarkedKey[],
): Promise<void> {
  const { owned, provider, signal } = session
  const { contacts, unreadable } = await provider.read(
    marked.map(({ key }) => key),
    signal,
  )
  session.progressed()
  const goneKeys = await findMovedFrom(session, contacts)
  await underFence(session, [], async (unit, account) => {
    const settled = await settleMarks(unit, owned.id, marked)
    const answer = settledAnswer({ items: contacts, unreadable }, settled, keysOf)
    await recordContacts(unit, account, answer.items, { folders: placedFolders(folders), goneKeys })
    await releaseFromQuarantine(unit, owned.id, [...settled])
    // In a folder that the index has; that of the contact is not known.
    const [folder] = folders
    if (folder) await quarantine(unit, owned.id, folder.id, answer.unreadable)
    await markGone(unit, owned.id, answer.gone)
  })
}

function keysOf({ key, formerKeys = [] }: RemoteContact): string[] {
  return [key, ...formerKeys]
}

/** If more contacts are due, the rest is left to a later pass. */
const ROUNDS_MAX = 20

/** Reads contacts again that could not be read, and that are due. */
export async function retryQuarantined(session: Session, folders: readonly IndexedFolder[]): Promise<void> {
  const { db, owned } = session
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const due = await listDue(db, owned.id, READ_AT_ONCE)
    if (due.length === 0) return
    await readAgain(session, folders, due)
  }
}

/**
 * Reads contacts and records them, or quarantines those that cannot be read. Contacts that the interface changes at the
 * moment are left alone, and so are those that the provider no longer has.
 * @param asked at most `READ_AT_ONCE`
 * @returns the keys of those that were recorded, and of those among them whose shown fields differed from the index
 */
export async function readAgain(
  session: Session,
  folders: readonly IndexedFolder[],
  asked: ReadonlyArray<{ key: string; folderId: string }>,
): Promise<{ recordedKeys: ReadonlySet<string>; changedKeys: ReadonlySet<string> }> {
  const { owned, provider, signal } = session
  const keys = asked.map(({ key }) => key)
  const { contacts, unreadable } = await provider.read(keys, signal)
  session.progressed()
  const folderOf = new Map(asked.map(({ key, folderId }) => [key, folderId]))
  return underFence(session, [listingMarked(owned.id, keys)], async (unit, account, [marked]) => {
    const held = new Set(marked.map(({ key }) => key))
    const free = contacts.filter(({ key }) => !held.has(key))
    const { changedKeys } = await recordContacts(unit, account, free, { folders: placedFolders(folders) })
    const failed = new Map(unreadable.map(one => [one.key, one]))
    await releaseFromQuarantine(
      unit,
      owned.id,
      keys.filter(key => !failed.has(key)),
    )
    for (const [folderId, ones] of Map.groupBy(failed.values(), ({ key }) => folderOf.get(key)))
      if (folderId !== undefined) await quarantine(unit, owned.id, folderId, ones)
    return { recordedKeys: new Set(free.map(({ key }) => key)), changedKeys }
  })
}
