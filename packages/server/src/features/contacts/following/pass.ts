import { beginLook } from '../../../accounts/halves/progress.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import type { BulkPermit } from '../../../sync/bulk-permits.ts'
import { loadKnownVersions } from '../contacts/store.ts'
import { hasMissing, recordLost } from '../contacts/record-missing.ts'
import { completeFirstSync } from './first-sync.ts'
import type { IndexedFolder } from '../folders/store.ts'
import { type FoldersLook, forgetVanished, type ListedFolder, lookAtFolders } from './folders.ts'
import { lookAtMarked, retryQuarantined } from './look-again.ts'
import { READER_VERSION } from './quarantine.ts'
import { recordStep } from './record-step.ts'
import { type Session, underFence } from './session.ts'
import { findDue, type VerifyOptions, verifyFolder } from './verify.ts'

/** Time for which an account reads whole folders before it lets others have their turn. */
const SLICE_MS = 30_000
/** After this many looks at an account that others keep changing, missing contacts are left to a later pass. */
const LOOKS_MAX = 4
const LOST_AT_ONCE = 200
/** Time that a provider may take before the first step of a folder. */
const LISTING_SECONDS_MAX = 600

export interface PassOptions {
  /** Takes the right to read much; null if it did not come in time. */
  acquireBulkPermit(): Promise<BulkPermit | null>
  /** Called when contacts of a folder were read that the index had not read to its end yet. */
  onRead(contacts: number, remaining: number | null): Promise<void>
  onDiffering: VerifyOptions['onDiffering']
}

/**
 * Makes one pass over the contacts of an account: follows the folders that changed, asks about contacts that the interface
 * changed, deletes those that are in no folder any more, and compares folders that are due with their provider.
 * @returns whether contacts are still to come
 */
export async function runPass(session: Session, options: PassOptions): Promise<{ hasMore: boolean }> {
  const failures = new Failures()
  const look = await lookAtFolders(session)
  const followed = await followChanged(session, look.listed, { ...options, failures })
  if (followed === 'more') return { hasMore: true }
  await lookAtMarked(session, foldersOf(look))
  await retryQuarantined(session, foldersOf(look))
  // A contact may have moved to a folder that was listed and that could not be found.
  const vanished = failures.hasLost ? [] : await settleMissing(session, look, { ...options, failures })
  if (vanished === 'more') return { hasMore: true }
  await forgetVanished(session, vanished)
  if (!session.isInitialized) await completeFirstSync(session)
  const hasMore = await verifyDue(session, look.listed, { ...options, failures })
  failures.rethrow()
  return { hasMore }
}

/** @returns whether another pass may heal a difference that was found */
async function verifyDue(
  session: Session,
  listed: readonly ListedFolder[],
  { failures, acquireBulkPermit, onDiffering }: PassOptions & { failures: Failures },
): Promise<boolean> {
  const due = (await findDue(session, listed)).filter(({ folder }) => !failures.has(folder.id))
  if (due.length === 0) return false
  using permit = await acquireBulkPermit()
  let mayHeal = false
  const until = performance.now() + SLICE_MS
  const follow = async (each: ListedFolder) => void (await followFolder(session, each, listed, neverPause))
  for (const each of permit ? due : []) {
    session.allow(LISTING_SECONDS_MAX)
    await failures.after(each, async () => {
      mayHeal = (await verifyFolder(session, each, { follow, onDiffering })) || mayHeal
    })
    if (performance.now() > until) break
  }
  return mayHeal
}

/**
 * Deletes contacts that are gone from where they were. They may have moved to a folder that was read before, or may have
 * been merged once more: they are lost once a later look found that nothing has happened anywhere, or have been missing
 * for several looks.
 * @returns the folders that are gone
 */
async function settleMissing(
  session: Session,
  before: FoldersLook,
  options: PassOptions & { failures: Failures },
): Promise<IndexedFolder[] | 'more'> {
  const { db, owned } = session
  let look = before
  let firstLook: number | null = null
  for (let looks = 0; looks < LOOKS_MAX && (await hasMissing(db, owned.id)); looks++) {
    const beforeLook = await beginLook(db, owned, 'contacts')
    firstLook ??= beforeLook
    look = await lookAtFolders(session)
    const followed = await followChanged(session, look.listed, options)
    if (followed === 'more') return 'more'
    await lookAtMarked(session, foldersOf(look))
    if (followed === 'quiet') await deleteLost(session, beforeLook)
  }
  if (firstLook !== null) await deleteLost(session, firstLook)
  return look.vanished
}

const foldersOf = ({ listed }: FoldersLook) => listed.map(({ folder }) => folder)

async function deleteLost(session: Session, beforeLook: number): Promise<void> {
  for (;;) {
    const lost = { beforeLook, limit: LOST_AT_ONCE }
    const count = await underFence(session, [], (unit, account) => recordLost(unit, account, lost))
    if (count < LOST_AT_ONCE) return
    session.progressed()
  }
}

/** @returns `more` if folders are still to be read, `quiet` if nothing had happened */
async function followChanged(
  session: Session,
  listed: readonly ListedFolder[],
  options: PassOptions & { failures: Failures },
): Promise<'more' | 'news' | 'quiet'> {
  const asked = listed.map(({ folder, remote }) => ({ folder: remote, cursor: folder.cursor }))
  const changed = asked.length === 0 ? new Set() : await session.provider.findChanged(asked, session.signal)
  session.progressed()
  const due = listed.filter(({ folder }) => !folder.isComplete || changed.has(folder.key))
  const known = due.filter(({ folder }) => folder.isComplete)
  const first = due.filter(({ folder }) => !folder.isComplete)
  const { failures } = options
  for (const each of known) await failures.after(each, () => followFolder(session, each, listed, neverPause))
  let isThrough = true
  if (first.length > 0) {
    using permit = await options.acquireBulkPermit()
    const until = performance.now() + SLICE_MS
    const mustPause = () => performance.now() > until
    isThrough = permit !== null
    for (const each of permit ? first : []) {
      const reading = { mustPause, onRead: options.onRead }
      await failures.after(each, async () => {
        isThrough = (await followFolder(session, each, listed, reading)) && isThrough
      })
      if (mustPause()) break
    }
    isThrough &&= first.every(({ folder }) => folder.isComplete || failures.has(folder.id))
  }
  if (!isThrough) return 'more'
  return due.length === 0 ? 'quiet' : 'news'
}

/** Failures of single folders, such as one that may no longer be read. The others are followed nevertheless. */
class Failures {
  #first: ProviderFailure | null = null
  /** Whether a folder that was listed could not be found. */
  hasLost = false
  readonly #folderIds = new Set<string>()

  has(folderId: string): boolean {
    return this.#folderIds.has(folderId)
  }

  async after({ folder }: ListedFolder, work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      const isOfFolder =
        error instanceof ProviderFailure && (error.kind === 'forbidden' || error.kind === 'not_found')
      if (!isOfFolder) throw error
      this.#folderIds.add(folder.id)
      this.hasLost ||= error.kind === 'not_found'
      this.#first ??= error
    }
  }

  rethrow(): void {
    if (this.#first) throw this.#first
  }
}

interface Reading {
  mustPause(): boolean
  onRead(contacts: number, remaining: number | null): Promise<void>
}

const neverPause: Reading = { mustPause: () => false, onRead: async () => {} }

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
