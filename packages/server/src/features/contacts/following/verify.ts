import type { ComparedSource } from '../../../sync/looks/compare-listing.ts'
import type { ComparisonStore } from '../../../sync/looks/verify-due.ts'
import {
  postponeFolder,
  recordFolderComparison,
  recordFoldersDiffering,
  scheduleFolders,
} from '../comparisons/record.ts'
import { findSchedule } from '../comparisons/store.ts'
import { findMarked } from '../contacts/record-marks.ts'
import { loadVersions } from '../contacts/store.ts'
import { dropCursors } from '../folders/record.ts'
import type { IndexedFolder } from '../folders/store.ts'
import type { ListedFolder } from './folders.ts'
import { readAgain } from './look-again.ts'
import { listQuarantinedKeys } from './quarantine.ts'
import { READ_AT_ONCE } from './record-step.ts'
import { type Session, underFence } from './session.ts'

/** Contacts of which one comparison looks at more than the version. */
const CHANGED_READ_MAX = 1_000

/** The comparisons of the folders of an account. */
export function folderComparisons(session: Session): ComparisonStore {
  const { db, owned } = session
  return {
    async findDue() {
      const { dueIds, isIncomplete, isStale } = await findSchedule(db, owned.id)
      if (isIncomplete || isStale)
        await underFence(session, [], async unit => {
          await scheduleFolders(unit, owned.id)
          await recordFoldersDiffering(unit, owned.id)
        })
      return dueIds
    },
    postpone: (folderId, seconds) => underFence(session, [], unit => postponeFolder(unit, folderId, seconds)),
    record: (folderId, counts, differs) =>
      underFence(session, [], async (unit, account) => {
        if (differs) await dropCursors(unit, [folderId])
        return recordFolderComparison(unit, { accountId: account.id, folderId }, counts)
      }),
  }
}

/** A folder as it is compared with its listing. */
export function comparedFolder(
  session: Session,
  { folder, remote }: ListedFolder,
  follow: () => Promise<void>,
): ComparedSource {
  const { db, owned, provider, signal, progressed } = session
  return {
    async *list() {
      for await (const page of provider.list(remote, signal)) {
        signal.throwIfAborted()
        yield page
        progressed()
      }
    },
    loadVersions: () => loadVersions(db, folder.id),
    async findExcused(keys) {
      const unreadable = await listQuarantinedKeys(db, folder.id)
      return new Set([...unreadable, ...(await findMarked(db, owned.id, keys))])
    },
    follow,
    findEqual: ({ changed }) => findEqual(session, folder, changed.slice(0, CHANGED_READ_MAX)),
  }
}

/**
 * Reads contacts whose versions differ. A provider may give a contact another version and change nothing that is shown of
 * it. Google does so when only other fields of the person change, and some CardDAV servers do when they store a card again.
 * @returns the keys of those whose shown fields are equal; the index has their versions now
 */
async function findEqual(
  session: Session,
  folder: IndexedFolder,
  keys: readonly string[],
): Promise<ReadonlySet<string>> {
  const equal = new Set<string>()
  for (let at = 0; at < keys.length; at += READ_AT_ONCE) {
    const asked = keys.slice(at, at + READ_AT_ONCE).map(key => ({ key, folderId: folder.id }))
    const { recordedKeys, changedKeys } = await readAgain(session, [folder], asked)
    for (const key of recordedKeys) if (!changedKeys.has(key)) equal.add(key)
  }
  return equal
}
