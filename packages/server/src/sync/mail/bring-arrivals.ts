import { type Arrival, recordArrivals } from '../../features/mail/messages/record-arrivals.ts'
import { markMissing, missUnrecognised } from '../../features/mail/messages/record-missing.ts'
import type { MessageKey, SourceStep } from '../../providers/mail.ts'
import { ProviderFailure } from '../../providers/failure.ts'
import { quarantine, releaseFromQuarantine } from './quarantine.ts'
import { type FollowedSource, followOptions, type Session, underFence } from './session.ts'
import {
  countMessages,
  countUnrecognised,
  dropCursor,
  findCursor,
  findMoveCandidates,
  type MoveCandidate,
  storeCursor,
} from './source-store.ts'

interface Unreadable {
  uid: number
  reason: string
}

type ArrivedStep = Extract<SourceStep, { type: 'arrived' }>

export interface BringOptions {
  /** Stop before what is not new mail; it is asked for again later. */
  onlyNew?: boolean
  /** Whether to stop after a step, since others wait for their turn. */
  mustPause?(): boolean
  /** Told after each step how much of the source is still to come. */
  onProgress?(recorded: number, remaining: number): Promise<void>
}

/**
 * Brings the messages of a source that the index lacks into it, a step a transaction.
 * @returns `paused` when there is more to come
 */
export async function bringArrivals(
  session: Session,
  followed: FollowedSource,
  bring: BringOptions = {},
): Promise<'done' | 'paused'> {
  for (;;) {
    const outcome = await bringOnce(session, followed, bring)
    if (outcome !== 'again') return outcome
  }
}

async function bringOnce(
  session: Session,
  followed: FollowedSource,
  { onlyNew = false, mustPause = () => false, onProgress }: BringOptions,
): Promise<'done' | 'paused' | 'again'> {
  const options = await followOptions(session, followed)
  const retries = new Set(options.retry)
  let unsure: { step: ArrivedStep; candidates: MoveCandidate[] } | undefined
  for await (const step of session.provider.arrivals(followed.source, options)) {
    session.progressed()
    if (step.type !== 'arrived') continue
    if (onlyNew && step.origin !== 'new') return 'paused'
    const candidates = await findCandidates(session, followed, step)
    if (candidates.length > 0) {
      unsure = { step, candidates }
      break
    }
    await recordStep(session, followed, step, retries)
    await onProgress?.(step.messages.length, step.remaining)
    if (mustPause()) return 'paused'
  }
  if (unsure) {
    await missMoved(session, unsure.candidates)
    await recordStep(session, followed, unsure.step, retries)
    return 'again'
  }
  // What was to be tried again and neither arrived nor failed is gone at the provider.
  if (retries.size > 0) {
    await underFence(session, unit =>
      releaseFromQuarantine(unit, followed.mailbox.id, [...retries].map(Number)),
    )
  }
  await closeRereading(session, followed)
  return 'done'
}

/**
 * Indexed messages that equal an arrival of the step: copies of it, or messages that moved before this pass could see
 * them vanish. Which of both, the provider tells when it is asked afresh, after the iteration has ended.
 */
async function findCandidates(
  session: Session,
  { mailbox }: FollowedSource,
  step: ArrivedStep,
): Promise<MoveCandidate[]> {
  if (!session.isInitialized || step.origin === 'widened' || step.messages.length === 0) return []
  const arrivals = step.messages.map(({ identity, key }) => ({ identity, uid: Number(key) }))
  return findMoveCandidates(session.db, session.owned.id, mailbox.id, arrivals)
}

async function missMoved(session: Session, candidates: readonly MoveCandidate[]): Promise<void> {
  for (const group of Map.groupBy(candidates, ({ source }) => source).values()) {
    const [{ source, mailboxId }] = group as [MoveCandidate]
    const uids = group.map(({ uid }) => uid)
    const present = await session.provider.findPresent(
      source,
      await findCursor(session.db, session.owned.id, source),
      uids,
    )
    session.progressed()
    const gone = uids.filter(uid => !present.has(uid))
    if (gone.length > 0) {
      await underFence(session, (unit, account) => markMissing(unit, account, mailboxId, gone))
    }
  }
}

/** Rows, quarantine, cursor and events in one transaction. */
async function recordStep(
  session: Session,
  followed: FollowedSource,
  step: ArrivedStep,
  retries: Set<MessageKey>,
): Promise<void> {
  const arrivals = step.messages.map(message => ({
    message,
    mailbox: followed.mailbox,
    uid: Number(message.key),
  }))
  const unreadable = step.unreadable.map(({ key, reason }) => ({ uid: Number(key), reason }))
  const isNews = step.origin !== 'widened'
  const commit = (recordable: readonly Arrival[], failed: readonly Unreadable[]) =>
    underFence(session, async (unit, account) => {
      await recordArrivals(unit, account, recordable, isNews)
      await quarantine(unit, session.owned.id, followed.mailbox.id, failed)
      const readAfterAll = recordable.flatMap(({ uid }) => (uid !== null && retries.has(uid) ? [uid] : []))
      await releaseFromQuarantine(unit, followed.mailbox.id, readAfterAll)
      await storeCursor(unit, session.owned.id, followed.source, step.cursor)
    })
  try {
    await commit(arrivals, unreadable)
  } catch (error) {
    if (!isDataError(error)) throw error
    const refused = await recordPiecemeal(session, arrivals, isNews)
    await commit([], [...unreadable, ...refused])
  }
  for (const { uid } of [...arrivals, ...unreadable]) retries.delete(uid)
  if (session.isInitialized && arrivals.length > 0) session.hasMail()
}

/** Records halves of halves, so that only the messages that the database refuses stay out. @returns those */
async function recordPiecemeal(
  session: Session,
  arrivals: readonly Arrival[],
  isNews: boolean,
): Promise<Unreadable[]> {
  try {
    await underFence(session, (unit, account) => recordArrivals(unit, account, arrivals, isNews))
    return []
  } catch (error) {
    if (!isDataError(error)) throw error
    const [only] = arrivals
    if (arrivals.length === 1 && only)
      return [{ uid: only.uid ?? 0, reason: `refused by the index: ${error.code}` }]
    const middle = Math.ceil(arrivals.length / 2)
    return [
      ...(await recordPiecemeal(session, arrivals.slice(0, middle), isNews)),
      ...(await recordPiecemeal(session, arrivals.slice(middle), isNews)),
    ]
  }
}

/** A value that PostgreSQL will refuse however often it is offered: classes 22 (data) and 54 (a limit exceeded). */
function isDataError(error: unknown): error is Error & { code: string } {
  return (
    error instanceof Error && 'code' in error && typeof error.code === 'string' && /^(22|54)/.test(error.code)
  )
}

/**
 * The source was read to its end: messages that were not recognised since it was renumbered are missing. When that is
 * most of a mailbox, it is read anew once more, on another connection, and even then not believed at once.
 */
async function closeRereading(session: Session, { source, mailbox }: FollowedSource): Promise<void> {
  const unrecognised = await countUnrecognised(session.db, session.owned.id, mailbox.id)
  if (unrecognised === 0) return
  const doubt = `reading ${source}`
  const isDoubted = session.doubts.has(doubt)
  const all = await countMessages(session.db, [mailbox.id])
  if (!session.doubts.believes(doubt, unrecognised, all)) {
    if (isDoubted) return
    await underFence(session, unit => dropCursor(unit, session.owned.id, source))
    throw new ProviderFailure(
      'unavailable',
      'a mailbox seems to have been emptied; the server is asked once more',
    )
  }
  await underFence(session, (unit, account) => missUnrecognised(unit, account, mailbox.id))
}
