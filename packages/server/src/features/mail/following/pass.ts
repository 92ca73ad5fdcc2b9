import { listIndexedMailboxes } from '../mailboxes/store.ts'
import { type ChangedKey, listChangedKeys } from '../messages/record-changed-keys.ts'
import { bringArrivals, type Remaining } from './bring-arrivals.ts'
import { lookAgain } from './changed-keys.ts'
import { compareSource } from './compare-source.ts'
import { completeFirstSync } from './first-sync.ts'
import {
  type MailboxPass,
  passMailboxes,
  type RemoteSource,
  settleMissing,
  startLook,
} from './mailbox-pass.ts'
import { ProviderFailure } from '../../../providers/failure.ts'
import type { Cursor } from '../../../providers/mail.ts'
import type { FollowedSource } from '../messages/rules.ts'
import { ChangedMeanwhile, MailboxUnlisted, type Session } from './session.ts'
import { findPause, type Pause } from '../../../sync/pause.ts'
import { forgetOutsideWindow } from './shrink-window.ts'
import { findUnfinished, type PassStart, readStart, type Unfinished } from './pass-start.ts'
import { listCursors } from './source-store.ts'
import type { BulkPermit } from '../../../sync/bulk-permits.ts'

/** Time for which an account reads older mail before it looks for new mail again and lets others have their turn. */
const SLICE_MS = 30_000
/** After this many looks at an account that others keep changing, missing messages are left to a later pass. */
const LOOKS_MAX = 4
/** The most mailboxes that a provider may name without listing them. */
const UNLISTED_MAX = 100
/** If the interface changes an account more often during a pass, the rest is left to a later pass. */
const CHANGES_MAX = 10

export interface PassOptions {
  /** Takes the right to read much; null if it did not come in time, or something was pushed. */
  acquireBulkPermit(): Promise<BulkPermit | null>
  /** Called with the number of older messages that were brought in, and the part that is known to be still to come. */
  onBackfill(brought: number, remaining: Remaining): Promise<void>
  /** Whether the provider has pushed that something happened. Older mail then waits until that is read. */
  isNoticed(): boolean
  /** Reads the changes that were pushed, of this source, if there is one. @returns false if only another pass can */
  readNoticed(inbox: FollowedSource | null): Promise<boolean>
}

export interface PassOutcome {
  /** Whether older mail is still to come. */
  hasMore: boolean
  /** The pause before older mail may be requested; null if it may be at once. */
  pause: Pause | null
  /** Whether nothing had happened since the last pass, and nothing is left to do. */
  isQuiet: boolean
  /** The inbox, which is watched until the next pass. */
  inbox: FollowedSource | null
  /** Number of messages that could not be read so far. */
  unreadable: number
  sources: readonly RemoteSource[]
}

/**
 * Makes one pass over an account. Its order keeps the identity of messages: first it looks at the indexed messages of
 * every mailbox; then at arrivals anywhere, so that a message that is missing in one place and found in another has
 * moved; messages that are still missing then are lost. Older mail that the index lacks comes last, in slices.
 */
export async function runPass(
  session: Session,
  begun: PassStart,
  options: PassOptions,
): Promise<PassOutcome> {
  const relisted = new Set<string>()
  let start = begun
  for (let changes = 0; ; start = await readStart(session.db, session.owned.id)) {
    try {
      return await passOnce(session, start, options)
    } catch (error) {
      if (error instanceof ChangedMeanwhile) {
        if (++changes < CHANGES_MAX) continue
        throw new ProviderFailure('unavailable', 'the account is changed too often to be read')
      }
      if (!(error instanceof MailboxUnlisted) || session.unlisted.size >= UNLISTED_MAX) throw error
      if (relisted.has(error.key)) session.unlisted.add(error.key)
      relisted.add(error.key)
    }
  }
}

async function passOnce(
  session: Session,
  { mailboxes, unfinished }: PassStart,
  options: PassOptions,
): Promise<PassOutcome> {
  await forgetOutsideWindow(session)
  let listed = await passMailboxes(session, mailboxes)
  const changed = changedSources(session, listed.sources, listed.cursors, unfinished)
  const isQuiet = changed.length === 0 && listed.vanished.length === 0 && !unfinished.hasMissing
  if (session.isInitialized && isQuiet)
    return { ...outcomeOf(false, listed, unfinished), isQuiet: unfinished.unreadable === 0 }
  await readChanges(session, changed)
  if (session.isInitialized) listed = await settle(session, listed)

  const { isThrough, pause } = await bringOlder(session, listed.sources, options)
  if (!isThrough || (await incompleteSources(session, listed.sources)).length > 0) {
    const unfinishedNow = await findUnfinished(session.db, session.owned.id)
    return { ...outcomeOf(true, listed, unfinishedNow), pause }
  }
  listed = await settle(session, listed)
  if (!session.isInitialized) await completeFirstSync(session)
  return outcomeOf(false, listed, await findUnfinished(session.db, session.owned.id))
}

function outcomeOf(hasMore: boolean, { sources }: MailboxPass, { unreadable }: Unfinished): PassOutcome {
  return { hasMore, pause: null, isQuiet: false, inbox: inboxOf(sources), unreadable, sources }
}

/** Leaves out the provider's own mailboxes, since the result is kept for as long as the account is watched. */
function inboxOf(sources: readonly RemoteSource[]): FollowedSource | null {
  const inbox = sources.find(({ mailboxes }) => mailboxes.some(({ role }) => role === 'inbox'))
  return inbox ? { source: inbox.source, mailboxes: inbox.mailboxes } : null
}

/**
 * Compares sources and brings their new messages. Keys that the interface had changed before are looked at last: from
 * then on the cursors count them.
 */
async function readChanges(session: Session, changed: readonly RemoteSource[]): Promise<void> {
  const changes: Array<[FollowedSource, ChangedKey[]]> = []
  for (const followed of changed) {
    changes.push([followed, await listChangedKeys(session.db, session.owned.id, followed.source)])
    await compareSource(session, followed)
  }
  if (!session.isInitialized) return
  const unfinished = await findUnfinished(session.db, session.owned.id)
  for (const followed of changedSources(
    session,
    changed,
    await listCursors(session.db, session.owned.id),
    unfinished,
  ))
    await bringArrivals(session, followed, { onlyNew: true })
  for (const [followed, keys] of changes) await lookAgain(session, followed, keys)
}

/**
 * Deletes messages that are missing everywhere. A message may have moved to a mailbox that was read before, or to a
 * new one, and from there to another: it is given up once a later listing shows that nothing has happened anywhere
 * since the mailboxes were read.
 */
async function settle(session: Session, before: MailboxPass): Promise<MailboxPass> {
  let listed = before
  for (let looks = 0; looks < LOOKS_MAX; looks++) {
    if (!(await findUnfinished(session.db, session.owned.id)).hasMissing) break
    const look = await startLook(session)
    listed = await passMailboxes(session, await listIndexedMailboxes(session.db, session.owned.id))
    if ((await incompleteSources(session, listed.sources)).length > 0) {
      const isRead = !(await hasFirstReading(session, listed.sources))
      await settleMissing(session, listed.vanished, isRead ? 'held' : 'none')
      return listed
    }
    const unfinished = await findUnfinished(session.db, session.owned.id)
    const changed = changedSources(session, listed.sources, listed.cursors, unfinished)
    if (changed.length === 0) {
      await settleMissing(session, listed.vanished, look)
      return listed
    }
    await readChanges(session, changed)
  }
  await settleMissing(session, listed.vanished, 'held')
  return listed
}

async function bringOlder(
  session: Session,
  sources: readonly RemoteSource[],
  options: PassOptions,
): Promise<{ isThrough: boolean; pause: Pause | null }> {
  const incomplete = await incompleteSources(session, sources)
  if (incomplete.length === 0) return { isThrough: true, pause: null }
  const inbox = inboxOf(sources)
  try {
    using permit = await acquireBulkPermit(inbox, options)
    const isThrough = permit !== null && (await bringSlice(session, incomplete, inbox, options))
    return { isThrough, pause: null }
  } catch (error) {
    const pause = findPause(error, session)
    if (!pause) throw error
    return { isThrough: false, pause }
  }
}

/** Acquires a permit, and meanwhile reads pushed changes. */
async function acquireBulkPermit(
  inbox: FollowedSource | null,
  options: PassOptions,
): Promise<BulkPermit | null> {
  for (;;) {
    const permit = await options.acquireBulkPermit()
    if (permit || !options.isNoticed() || !(await options.readNoticed(inbox))) return permit
  }
}

/** Reads older mail for a while, and pushed changes in between. @returns whether all older mail was read */
async function bringSlice(
  session: Session,
  incomplete: readonly FollowedSource[],
  inbox: FollowedSource | null,
  { onBackfill, isNoticed, readNoticed }: PassOptions,
): Promise<boolean> {
  const until = performance.now() + SLICE_MS
  const isOver = () => performance.now() > until
  for (const followed of incomplete) {
    const bring = { mustPause: () => isOver() || isNoticed(), onProgress: onBackfill }
    while ((await bringArrivals(session, followed, bring)) === 'paused')
      if (isOver() || !(await readNoticed(inbox))) return false
  }
  return true
}

async function incompleteSources(
  session: Session,
  sources: readonly RemoteSource[],
): Promise<RemoteSource[]> {
  const cursors = await listCursors(session.db, session.owned.id)
  return sources.filter(
    ({ source }) => !session.provider.isComplete(cursors.get(source) ?? null, session.since),
  )
}

/** Whether a message may have moved to a source in which it has not been reached yet. */
async function hasFirstReading(
  { db, owned, provider }: Session,
  sources: readonly RemoteSource[],
): Promise<boolean> {
  const cursors = await listCursors(db, owned.id)
  return sources.some(({ source }) => provider.isFirstReading?.(cursors.get(source) ?? null))
}

/** Sources that may have changed, are not read to their end, or have a message to try again. */
function changedSources(
  session: Session,
  sources: readonly RemoteSource[],
  cursors: ReadonlyMap<string, Cursor | null>,
  unfinished: Unfinished,
): RemoteSource[] {
  return sources.filter(({ source, remotes }) => {
    const cursor = cursors.get(source) ?? null
    return (
      unfinished.sources.has(source) ||
      remotes.some(remote => session.provider.hasChanged(remote, cursor)) ||
      !session.provider.isComplete(cursor, session.since)
    )
  })
}
