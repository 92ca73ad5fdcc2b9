import type { ContactsStep, RemoteContact } from '../../../providers/contacts.ts'
import { withoutMarked } from '../../../sync/looks/marked.ts'
import { recordContacts } from '../contacts/record.ts'
import { listingMarked } from '../contacts/record-marks.ts'
import { markMissing } from '../contacts/record-missing.ts'
import { placedFolders } from '../contacts/record-written.ts'
import { listSameUid } from '../contacts/store.ts'
import { recordCursor } from '../folders/record.ts'
import type { IndexedFolder } from '../folders/store.ts'
import { quarantine, releaseFromQuarantine } from './quarantine.ts'
import { type Session, underFence } from './session.ts'

/** The most keys that a provider is asked about at once. */
export const READ_AT_ONCE = 50

/**
 * Records one step of following a folder, with its cursor, in one transaction. Contacts that the interface changed and of
 * which the provider was not asked since are left alone: the step may be older.
 */
export async function recordStep(
  session: Session,
  folder: IndexedFolder,
  folders: readonly IndexedFolder[],
  step: ContactsStep,
): Promise<void> {
  const { owned } = session
  if (step.type === 'end') {
    const end = { cursor: step.cursor, isComplete: true }
    return underFence(session, [], unit => recordCursor(unit, folder.id, end))
  }
  const cursor = step.cursor && { cursor: step.cursor, isComplete: false }
  if (step.type === 'gone')
    return underFence(session, [listingMarked(owned.id, step.keys)], async (unit, account, [marked]) => {
      const keys = withoutMarked(step.keys, keySet(marked))
      await markMissing(unit, account.id, folder.id, keys)
      await releaseFromQuarantine(unit, account.id, keys)
      if (cursor) await recordCursor(unit, folder.id, cursor)
    })
  const { contacts, unreadable } = step
  const goneKeys = await findMovedFrom(session, contacts)
  const read = [...contacts, ...unreadable].map(({ key }) => key)
  await underFence(session, [listingMarked(owned.id, read)], async (unit, account, [marked]) => {
    const free = new Set(withoutMarked(read, keySet(marked)))
    const recorded = contacts.filter(({ key }) => free.has(key))
    await recordContacts(unit, account, recorded, { folders: placedFolders(folders), goneKeys })
    await releaseFromQuarantine(
      unit,
      account.id,
      recorded.map(({ key }) => key),
    )
    await quarantine(
      unit,
      account.id,
      folder.id,
      unreadable.filter(({ key }) => free.has(key)),
    )
    if (cursor) await recordCursor(unit, folder.id, cursor)
  })
}

const keySet = (marked: ReadonlyArray<{ key: string }>) => new Set(marked.map(({ key }) => key))

/**
 * Keys that arrived contacts have left: their uids are known under other keys, which the provider no longer has. Contacts
 * that it still has are copies in other address books.
 */
export async function findMovedFrom(
  { db, owned, provider, signal, progressed }: Session,
  contacts: readonly RemoteContact[],
): Promise<Set<string>> {
  const arrived = contacts.flatMap(({ key, uid }) =>
    uid === null || uid.includes('\0') || key.includes('\0') ? [] : [{ key, uid }],
  )
  const arrivedKeys = new Set(arrived.map(({ key }) => key))
  const held = (await listSameUid(db, owned.id, arrived)).filter(key => !arrivedKeys.has(key))
  const gone = new Set<string>()
  for (let at = 0; at < held.length; at += READ_AT_ONCE) {
    const asked = held.slice(at, at + READ_AT_ONCE)
    const answer = await provider.read(asked, signal)
    progressed()
    const there = new Set([...answer.contacts, ...answer.unreadable].map(({ key }) => key))
    for (const key of asked) if (!there.has(key)) gone.add(key)
  }
  return gone
}
