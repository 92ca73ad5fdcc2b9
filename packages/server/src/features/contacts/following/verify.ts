import { ProviderFailure } from '../../../providers/failure.ts'
import type { ComparedCounts } from '../../mail/comparisons/rules.ts'
import {
  postponeFolder,
  recordFolderComparison,
  recordFoldersDiffering,
  scheduleFolders,
} from '../comparisons/record.ts'
import { findSchedule } from '../comparisons/store.ts'
import { isStorableKey, storable } from '../../../kit/storable.ts'
import { findMarked } from '../contacts/record-marks.ts'
import { loadVersions } from '../contacts/store.ts'
import { dropCursors } from '../folders/record.ts'
import type { IndexedFolder } from '../folders/store.ts'
import type { ListedFolder } from './folders.ts'
import { readAgain } from './look-again.ts'
import { listQuarantinedKeys } from './quarantine.ts'
import { READ_AT_ONCE } from './record-step.ts'
import { type Session, underFence } from './session.ts'

/** A folder that could not be listed is compared after this time. */
const POSTPONED_SECONDS = 3_600
/** Contacts of which one comparison looks at more than the version. */
const CHANGED_READ_MAX = 1_000

export interface VerifyOptions {
  /** Brings the changes that the provider reports of a folder. */
  follow(listed: ListedFolder): Promise<void>
  /** Called with the number of contacts in which a folder differs from its provider. */
  onDiffering(folderId: string, count: number): void
}

/** Folders among these that are due for a comparison with their provider. Plans the first one of each. */
export async function findDue(
  { db, owned }: Session,
  listed: readonly ListedFolder[],
): Promise<ListedFolder[]> {
  const { dueIds, isIncomplete, isStale } = await findSchedule(db, owned.id)
  if (isIncomplete || isStale)
    await underFence({ db, owned }, [], async unit => {
      await scheduleFolders(unit, owned.id)
      await recordFoldersDiffering(unit, owned.id)
    })
  return listed.filter(({ folder }) => dueIds.has(folder.id))
}

/**
 * Compares a folder with its listing at the provider, by keys and versions. If they differ, the follower compares the whole
 * folder next time, and brings what it lacks.
 * @returns whether another pass may heal a difference now
 */
export async function verifyFolder(
  session: Session,
  listed: ListedFolder,
  options: VerifyOptions,
): Promise<boolean> {
  const { folder } = listed
  const counts = await compare(session, listed, options).catch(async (error: unknown) => {
    // The whole listing is not to be read again at each look.
    if (error instanceof ProviderFailure)
      await underFence(session, [], unit => postponeFolder(unit, folder.id, POSTPONED_SECONDS))
    throw error
  })
  const open = counts.missing + counts.extra + counts.changed
  const plan = await underFence(session, [], async (unit, account) => {
    if (open > 0) await dropCursors(unit, [folder.id])
    return recordFolderComparison(unit, { accountId: account.id, folderId: folder.id }, counts)
  })
  if (open > 0) options.onDiffering(folder.id, open)
  return open > 0 && plan.dueInSeconds === 0
}

/** A key with the versions that the index and the provider have of it; null: none. */
interface Difference {
  here: string | null
  there: string | null
}

interface Looked {
  listed: number
  indexed: number
  differences: Map<string, Difference>
}

/**
 * Counts the contacts in which the index and the provider differ, also after the provider was asked for its changes, and
 * that neither of them has changed meanwhile.
 */
async function compare(
  session: Session,
  listed: ListedFolder,
  { follow }: Pick<VerifyOptions, 'follow'>,
): Promise<ComparedCounts> {
  const first = await lookAtOnce(session, listed)
  if (first.differences.size === 0) return countsOf(first, [])
  await follow(listed)
  const second = await lookAtOnce(session, listed)
  const lasting = [...second.differences].filter(([key, { here, there }]) => {
    const before = first.differences.get(key)
    return before?.here === here && before?.there === there
  })
  const changed = lasting.flatMap(([key, { here, there }]) => (here !== null && there !== null ? key : []))
  const equal = await findEqual(session, listed.folder, changed.slice(0, CHANGED_READ_MAX))
  return countsOf(
    second,
    lasting.flatMap(([key, difference]) => (equal.has(key) ? [] : difference)),
  )
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

function countsOf({ listed, indexed }: Looked, differences: readonly Difference[]): ComparedCounts {
  const missing = differences.filter(({ here }) => here === null).length
  const extra = differences.filter(({ there }) => there === null).length
  return { listed, indexed, missing, extra, changed: differences.length - missing - extra }
}

/**
 * Lists a folder and looks up the index. Contacts that cannot be read, or that the interface changes at the moment, are no
 * differences.
 */
async function lookAtOnce(session: Session, { folder, remote }: ListedFolder): Promise<Looked> {
  const { db, owned, provider, signal, progressed } = session
  const there = new Map<string, string>()
  for await (const page of provider.list(remote, signal)) {
    signal.throwIfAborted()
    for (const { key, version } of page) if (isStorableKey(key)) there.set(key, storable(version))
    progressed()
  }
  const here = await loadVersions(db, folder.id)
  const unreadable = new Set(await listQuarantinedKeys(db, folder.id))
  const keys = [...new Set([...here.keys(), ...there.keys()])].filter(
    key => !unreadable.has(key) && here.get(key) !== there.get(key),
  )
  const marked = new Set(await findMarked(db, owned.id, keys))
  const differences = keys
    .filter(key => !marked.has(key))
    .map(key => [key, { here: here.get(key) ?? null, there: there.get(key) ?? null }] as const)
  return { listed: there.size, indexed: here.size, differences: new Map(differences) }
}
