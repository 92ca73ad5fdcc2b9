import {
  followChanged,
  neverPause,
  type PassOptions,
  type Reading,
} from '../../../sync/looks/follow-changed.ts'
import { Failures } from '../../../sync/looks/failures.ts'
import { completeFirstSync } from '../../../sync/looks/first-sync.ts'
import { settleMissing } from '../../../sync/looks/settle-missing.ts'
import { verifyDue } from '../../../sync/looks/verify-due.ts'
import { loadKnownVersions } from '../contacts/store.ts'
import { hasMissing, recordLost } from '../contacts/record-missing.ts'
import { countContents, type IndexedFolder } from '../folders/store.ts'
import { type FoldersLook, forgetVanished, type ListedFolder, lookAtFolders } from './folders.ts'
import { listMarked, lookAtMarked, retryQuarantined } from './look-again.ts'
import { READER_VERSION } from './quarantine.ts'
import { recordStep } from './record-step.ts'
import { fenceOf, type Session, underFence } from './session.ts'
import { comparedFolder, folderComparisons } from './verify.ts'

/** Time that a provider may take before the first step of a folder. */
const LISTING_SECONDS_MAX = 600

interface Failing {
  failures: Failures
  options: PassOptions
}

/**
 * Makes one pass over the contacts of an account: follows the folders that changed, asks about contacts that the interface
 * changed, deletes those that are in no folder any more, and compares folders that are due with their provider.
 * @returns whether contacts are still to come
 */
export async function runPass(session: Session, options: PassOptions): Promise<{ hasMore: boolean }> {
  const failing = { failures: new Failures(), options }
  const { failures } = failing
  const marked = await listMarked(session)
  const look = await lookAtFolders(session)
  const followed = await followListed(session, look.listed, failing)
  if (followed === 'more') return { hasMore: true }
  await lookAtMarked(session, foldersOf(look), marked)
  await retryQuarantined(session, foldersOf(look))
  // A contact may have moved to a folder that was listed and that could not be found.
  const vanished = failures.hasLost ? [] : await deleteMissing(session, look, failing)
  if (vanished === null) return { hasMore: true }
  await forgetVanished(session, vanished)
  if (!session.isInitialized) await beAnnounced(session)
  const hasMore = await verifyFolders(session, look.listed, failing)
  failures.rethrow()
  return { hasMore }
}

/** The first sync is complete: from here on changes are announced. */
async function beAnnounced(session: Session): Promise<void> {
  const { db, owned } = session
  await completeFirstSync(fenceOf(db, owned, []), async unit => {
    const data = await countContents(unit.sql, owned.id)
    unit.announce({ type: 'contacts.initialized', accountId: owned.id, data })
  })
  session.isInitialized = true
}

/** @returns whether another pass may heal a difference that was found */
function verifyFolders(
  session: Session,
  listed: readonly ListedFolder[],
  { failures, options }: Failing,
): Promise<boolean> {
  const follow = async (each: ListedFolder) => void (await followFolder(session, each, listed, neverPause))
  return verifyDue(session, listed, {
    sourceOf: ({ folder }) => folder,
    failures,
    options,
    store: folderComparisons(session),
    compared: each => comparedFolder(session, each, () => follow(each)),
  })
}

/**
 * Deletes contacts that are gone from where they were, and that are found nowhere.
 * @returns the folders that are gone; null if folders are still to be read
 */
async function deleteMissing(
  session: Session,
  before: FoldersLook,
  failing: Failing,
): Promise<IndexedFolder[] | null> {
  const { db, owned } = session
  const last = await settleMissing(session, before, {
    kind: 'contacts',
    hasMissing: () => hasMissing(db, owned.id),
    async lookAgain() {
      const marked = await listMarked(session)
      const look = await lookAtFolders(session)
      const followed = await followListed(session, look.listed, failing)
      if (followed === 'more') return null
      await lookAtMarked(session, foldersOf(look), marked)
      return { look, isQuiet: followed === 'quiet' }
    },
    deleteLost: lost => underFence(session, [], (unit, account) => recordLost(unit, account, lost)),
  })
  return last && last.vanished
}

const foldersOf = ({ listed }: FoldersLook) => listed.map(({ folder }) => folder)

/** As `followChanged`, for the folders that have changed at the provider. */
async function followListed(
  session: Session,
  listed: readonly ListedFolder[],
  { failures, options }: Failing,
): Promise<'more' | 'news' | 'quiet'> {
  const asked = listed.map(({ folder, remote }) => ({ folder: remote, cursor: folder.cursor }))
  const changed = asked.length === 0 ? new Set() : await session.provider.findChanged(asked, session.signal)
  session.progressed()
  const due = listed.filter(({ folder }) => !folder.isComplete || changed.has(folder.key))
  const follow = (each: ListedFolder, reading: Reading) => followFolder(session, each, listed, reading)
  return followChanged(due, { sourceOf: ({ folder }) => folder, failures, options, follow })
}

/** Follows a folder from its cursor. @returns whether it is caught up */
async function followFolder(
  session: Session,
  { folder, remote }: ListedFolder,
  listed: readonly ListedFolder[],
  { mustPause, onRead }: Reading,
): Promise<boolean> {
  const { db, provider, signal } = session
  const folders = listed.map(each => each.folder)
  const known = () => loadKnownVersions(db, folder.id, READER_VERSION)
  // A large folder may be listed twice before anything of it is yielded.
  session.allow(LISTING_SECONDS_MAX)
  for await (const step of provider.follow({ folder: remote, cursor: folder.cursor, known, signal })) {
    signal.throwIfAborted()
    await recordStep(session, folder, folders, step)
    if (step.cursor !== undefined) folder.cursor = step.cursor
    session.progressed()
    if (step.type === 'end') {
      folder.isComplete = true
      return true
    }
    if (step.type === 'contacts') await onRead(step.contacts.length, step.remaining)
    // Without a cursor, it would begin again.
    if (step.cursor !== undefined && mustPause()) return false
  }
  return false
}
