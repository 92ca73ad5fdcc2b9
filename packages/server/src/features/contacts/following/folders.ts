import { sql } from 'kysely'
import type { RemoteContactFolder } from '../../../providers/contacts.ts'
import { markFolderMissing } from '../contacts/record-missing.ts'
import { dropCursors, recordFolders, recordVanishedFolders } from '../folders/record.ts'
import { planFolders } from '../folders/rules.ts'
import { type IndexedFolder, listIndexedFolders } from '../folders/store.ts'
import { type Session, underFence } from './session.ts'

const MARKED_AT_ONCE = 1_000

/** A folder of the index, as it is followed at the provider. */
export interface ListedFolder {
  folder: IndexedFolder
  remote: RemoteContactFolder
}

export interface FoldersLook {
  listed: ListedFolder[]
  /** Folders that are certainly gone. Their contacts are missing. */
  vanished: IndexedFolder[]
}

/**
 * Lists the folders of the provider and records them. A folder with contacts that is not listed any more is believed to be
 * gone only if it is still not listed a while later; until then it is left as it is.
 */
export async function lookAtFolders(session: Session): Promise<FoldersLook> {
  const { db, owned, provider, signal, doubts } = session
  const remotes = await provider.listFolders(signal)
  session.progressed()
  const { folders, vanished } = await bringFolders(session, remotes)
  doubts.forgetUnlisted(new Set(vanished.map(({ id }) => id)))
  const gone: IndexedFolder[] = []
  for (const folder of vanished) {
    const { rows } = await sql`
      select from contact where folder_id = ${folder.id} and missing_look is null limit 1
    `.execute(db)
    // Nothing is lost with it, or it was believed before.
    if (rows.length === 0) doubts.forget(claimOf(folder.id))
    else if (!doubts.believesInTime(claimOf(folder.id))) continue
    gone.push(folder)
  }
  const ids = gone.map(({ id }) => id)
  // If a folder comes back, all of it is compared: its contacts are missing by then.
  if (ids.length > 0) await underFence(session, [], unit => dropCursors(unit, ids))
  while (
    ids.length > 0 &&
    (await underFence(session, [], unit => markFolderMissing(unit, owned.id, ids, MARKED_AT_ONCE))) > 0
  )
    session.progressed()
  const byKey = new Map(remotes.map(remote => [remote.key, remote]))
  const listed = folders.flatMap(folder => {
    const remote = byKey.get(folder.key)
    return remote ? [{ folder, remote }] : []
  })
  return { listed, vanished: gone }
}

/** Most looks find the folders as they were, and write nothing. */
async function bringFolders(session: Session, remotes: readonly RemoteContactFolder[]) {
  const { db, owned, provider } = session
  const indexed = await listIndexedFolders(db, owned.id)
  const { inserted, updated, vanished } = planFolders(indexed, remotes, provider.hasFolders)
  if (inserted.length + updated.length > 0)
    return underFence(session, [], (unit, account) =>
      recordFolders(unit, account, remotes, provider.hasFolders),
    )
  const gone = new Set(vanished.map(({ id }) => id))
  return { folders: indexed.filter(({ id }) => !gone.has(id)), vanished }
}

const claimOf = (folderId: string) => `vanished ${folderId}`

/** Deletes folders that are gone and hold no contact any more. */
export async function forgetVanished(session: Session, vanished: readonly IndexedFolder[]): Promise<void> {
  if (vanished.length === 0) return
  const ids = vanished.map(({ id }) => id)
  await underFence(session, [], (unit, account) => recordVanishedFolders(unit, account, ids))
}
